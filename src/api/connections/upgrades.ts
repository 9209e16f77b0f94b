/** Requests for another protocol: they pass all of the app, which takes the connection or refuses in HTTP. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { HttpBindings } from '@hono/node-server'
import type { Limits } from '../../config/limits.ts'
import type { ApiEnv, Carried } from '../request/env.ts'
import { settleHead } from '../request/head.ts'
import { isOwed } from './connections.ts'
import { closeWith, hangUp, notHttp } from './refusals.ts'

export type Fetch = (request: Request, env: ApiEnv['Bindings']) => Response | Promise<Response>

export type MayUpgrade = (incoming: IncomingMessage) => boolean

export class Upgrades {
  readonly #limits: Limits
  readonly #fetch: Fetch
  readonly #sockets = new WeakSet<Socket>()

  constructor(limits: Limits, fetch: Fetch) {
    this.#limits = limits
    this.#fetch = fetch
  }

  /** Whether a connection has left HTTP, or asks to. */
  has(socket: Socket): boolean {
    return this.#sockets.has(socket)
  }

  begin(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    // Node has left the socket, with its errors.
    socket.on('error', () => {})
    // It came in a row with a request whose answer still has the socket.
    if (isOwed(socket)) return void socket.destroy()
    this.#sockets.add(socket)
    this.#ask(incoming, socket, head).catch(() => hangUp(socket, notHttp))
  }

  async #ask(incoming: IncomingMessage, socket: Socket, bytes: Buffer): Promise<void> {
    const head = settleHead(incoming, this.#limits)
    const carried: Carried = { isTaken: false, upgrade: { socket, head: bytes } }
    const { rawHeaders, method } = incoming
    const headers = new Headers()
    for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
    const request = new Request(`http://localhost${head.path}`, { method: method!, headers })
    const response = await this.#fetch(request, { incoming, head, carried } as Partial<HttpBindings> & object)
    if (carried.isTaken) return
    const body = await response.text()
    const length = String(Buffer.byteLength(body))
    const said = { ...Object.fromEntries(response.headers), connection: 'close', 'content-length': length }
    closeWith(socket, response.status, said, body)
  }
}
