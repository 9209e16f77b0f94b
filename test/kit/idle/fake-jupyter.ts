/**
 * A pretended Jupyter server at an address of its own on this machine, for labs and notebooks whose pods KWOK plays. It
 * speaks HTTP/1.1, remembers what it was asked, and fails as its script says.
 */
import { randomInt } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { labPort } from '../../../src/labs/env.ts'

/** A replica whose watch lags takes a new workload, finds no pod, and keeps it from the others for 20 s. */
const hangingMs = 60_000

/** What the server shows, or how it fails. Times are ms since the epoch. */
export type Behaviour =
  | {
      /** States and latest activities of its kernels; default: none. */
      readonly kernels?: readonly { readonly state: string; readonly lastMs: number }[]
      /** Latest activities of its terminals; default: none. */
      readonly terminals?: readonly number[]
      /** By path without query, answered as they are. */
      readonly others?: Readonly<Record<string, string>>
      /** What its clock is ahead of ours. */
      readonly aheadMs?: number
    }
  /** Takes the request, and says nothing. */
  | 'hang'
  /** Ends the connection with a reset when the request has come. */
  | 'reset'
  /** 200, and no JSON. */
  | 'garbage'
  /** 200, and a body of a gigabyte. */
  | 'huge'
  /** A redirect to `to`. */
  | { readonly redirectTo: string }
  | { readonly status: number }

export interface Asked {
  readonly atMs: number
  /** With its query. */
  readonly path: string
  readonly authorization: string | undefined
  /** What it showed then. */
  readonly behaviour: Behaviour
}

const attempts = 100

export class FakeJupyter {
  readonly address: string
  readonly port: number
  readonly #server: Server
  readonly #events = new EventEmitter()
  readonly #sockets = new Set<Socket>()
  readonly #asked: Asked[] = []
  #behaviour: Behaviour = {}

  private constructor(server: Server, address: string, port: number) {
    this.#server = server
    this.address = address
    this.port = port
    server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => this.#answer(request, response))
  }

  /** @param address default: one in 127.0.0.0/8 that nobody listens at */
  static async start(address?: string, port: number = labPort): Promise<FakeJupyter> {
    for (let left = attempts; ; left--) {
      const server = createServer()
      const host = address ?? `127.${randomInt(16, 250)}.${randomInt(0, 256)}.${randomInt(1, 255)}`
      const listening = once(server, 'listening')
      server.listen(port, host)
      try {
        await listening
        return new FakeJupyter(server, host, port)
      } catch (error) {
        if (address !== undefined || left === 0) throw error
      }
    }
  }

  /** From the next request on. */
  behave(behaviour: Behaviour): void {
    this.#behaviour = behaviour
  }

  /** What it was asked until now. */
  get asked(): readonly Asked[] {
    return this.#asked
  }

  /** Resolves when it was asked that often in all. */
  async untilAsked(count: number, signal: AbortSignal = AbortSignal.timeout(hangingMs)): Promise<void> {
    while (this.#asked.length < count) await once(this.#events, 'asked', { signal })
  }

  /** Resolves at the next request. */
  nextAsked(signal?: AbortSignal): Promise<void> {
    return this.untilAsked(this.#asked.length + 1, signal)
  }

  /** Its address is free then. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url!
    const behaviour = this.#behaviour
    this.#asked.push({ atMs: Date.now(), path, authorization: request.headers.authorization, behaviour })
    this.#events.emit('asked')
    if (behaviour === 'hang') return
    if (behaviour === 'reset') request.socket.resetAndDestroy()
    else if (behaviour === 'garbage') response.end('<html>')
    else if (behaviour === 'huge') sendForever(response)
    else if ('redirectTo' in behaviour) response.writeHead(302, { location: behaviour.redirectTo }).end()
    else if ('status' in behaviour) response.writeHead(behaviour.status).end('{}')
    else this.#show(path, behaviour, response)
  }

  #show(
    path: string,
    shown: Exclude<Behaviour, string | { status: number } | { redirectTo: string }>,
    to: ServerResponse,
  ) {
    const { kernels = [], terminals = [], others = {}, aheadMs = 0 } = shown
    const wanted = path.split('?')[0]!
    const timeOf = (ms: number) => new Date(ms).toISOString()
    to.setHeader('Date', new Date(Date.now() + aheadMs).toUTCString())
    to.setHeader('Content-Type', 'application/json')
    const other = others[wanted]
    if (other !== undefined) to.end(other)
    else if (wanted.endsWith('/api/kernels')) {
      const list = kernels.map(({ state, lastMs }, index) => ({
        ...{ id: `kernel-${index}`, name: 'python3', connections: 0 },
        ...{ execution_state: state, last_activity: timeOf(lastMs) },
      }))
      to.end(JSON.stringify(list))
    } else if (wanted.endsWith('/api/terminals')) {
      to.end(JSON.stringify(terminals.map((ms, index) => ({ name: `${index + 1}`, last_activity: timeOf(ms) }))))
    } else to.writeHead(404).end('{}')
  }
}

/** A gigabyte, as fast as it is read. */
function sendForever(response: ServerResponse): void {
  const chunk = Buffer.alloc(64 * 1024, '[')
  let left = 2 ** 30
  response.writeHead(200, { 'content-type': 'application/json' })
  const send = () => {
    while (left > 0) {
      left -= chunk.length
      if (!response.write(chunk)) return
    }
    response.end()
  }
  response.on('drain', send)
  send()
}
