/** Raw connections on both sides of a pump, for bytes that no HTTP library sends. */
import { once } from 'node:events'
import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterAll } from 'vitest'
import { Pump } from '../../../src/gateway/pump.ts'
import type { Destination, Ending, PumpLimits } from '../../../src/gateway/terms.ts'

/** One end of a connection, with all that came. The other end may close its way first. */
export class Wire {
  readonly socket: Socket
  /** As latin1; only counted after `forget`. */
  text = ''
  bytes = 0
  hasEnded = false
  isClosed = false
  #keeps = true
  readonly #watchers = new Set<() => void>()

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', chunk => {
      this.bytes += chunk.length
      if (this.#keeps) this.text += chunk.toString('latin1')
      this.#wake()
    })
    socket.on('end', () => {
      this.hasEnded = true
      this.#wake()
    })
    socket.on('close', () => {
      this.isClosed = true
      this.#wake()
    })
    socket.on('error', () => {})
  }

  get isOver(): boolean {
    return this.hasEnded || this.isClosed
  }

  write(bytes: string | Buffer): void {
    this.socket.write(bytes, 'latin1')
  }

  /** Keeps no more of what comes. */
  forget(): void {
    this.#keeps = false
  }

  /** Writes `size` bytes as fast as the other side takes them. Returns how many it took so far. */
  pour(size: number): () => number {
    const block = Buffer.alloc(65_536, 'x')
    let sent = 0
    const more = (): void => {
      while (sent < size && !this.isClosed) {
        const next = block.subarray(0, size - sent)
        sent += next.length
        if (!this.socket.write(next)) {
          this.socket.once('drain', more)
          return
        }
      }
    }
    more()
    return () => sent - this.socket.writableLength
  }

  /** Resolves when it holds, which is judged at each event of the connection. */
  when(holds: (wire: Wire) => boolean): Promise<void> {
    return new Promise(resolve => {
      const judge = () => {
        if (!holds(this)) return
        this.#watchers.delete(judge)
        resolve()
      }
      this.#watchers.add(judge)
      judge()
    })
  }

  has(part: string): Promise<void> {
    return this.when(({ text }) => text.includes(part))
  }

  over(): Promise<void> {
    return this.when(({ isOver }) => isOver)
  }

  #wake(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** Called with each new connection to an app, and how many there were. */
export type Script = (wire: Wire, count: number) => void | Promise<void>

const listening = async (server: Server | HttpServer) => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

const statuses: Readonly<Partial<Record<Ending, number>>> = { refused: 502, silent: 504, unframed: 501 }

export const patientLimits: PumpLimits = {
  ...{ headMs: 10_000, idleMs: 10_000, freeMs: 10_000, lingerMs: 10_000, connections: 8 },
}

export interface WiresOptions {
  readonly limits?: Partial<PumpLimits>
  readonly answer?: Destination['answer']
  readonly trailers?: Destination['trailers']
  readonly gate?: Destination['gate']
}

/** An app that follows a script, a server with a pump before it, and clients. */
export class Wires {
  /** The connections that the app got. */
  readonly apps: Wire[] = []
  /** How each request ended. */
  readonly endings: Ending[] = []
  readonly server = createHttpServer({ requireHostHeader: false })
  readonly #app: Server
  readonly #pump: Pump
  readonly #clients: Wire[] = []
  readonly #options: WiresOptions
  #ports = { app: 0, front: 0 }
  #watchers: (() => void)[] = []

  private constructor(script: Script, options: WiresOptions) {
    this.#options = options
    this.#pump = new Pump({ ...patientLimits, ...options.limits })
    this.#app = createServer({ allowHalfOpen: true }, socket => {
      const wire = new Wire(socket)
      this.apps.push(wire)
      this.#wake()
      void script(wire, this.apps.length)
    })
    this.server.on('request', (incoming, outgoing) => void this.#request(incoming, outgoing))
    this.server.on('checkContinue', (incoming, outgoing) => void this.#request(incoming, outgoing))
    this.server.on('upgrade', (incoming, socket, head) => void this.#upgrade(incoming, socket as Socket, head))
  }

  static async start(script: Script, options: WiresOptions = {}): Promise<Wires> {
    const wires = new Wires(script, options)
    wires.#ports = { app: await listening(wires.#app), front: await listening(wires.server) }
    return wires
  }

  get appPort(): number {
    return this.#ports.app
  }

  async client(): Promise<Wire> {
    const socket = connect({ port: this.#ports.front, host: '127.0.0.1', allowHalfOpen: true })
    const wire = new Wire(socket)
    this.#clients.push(wire)
    await once(socket, 'connect')
    return wire
  }

  /** Resolves with the app's connection of this number, from 1. */
  async app(count: number): Promise<Wire> {
    await this.when(({ apps }) => apps.length >= count)
    return this.apps[count - 1]!
  }

  /** Resolves when it holds, which is judged at each new connection of the app and each ending. */
  async when(holds: (wires: Wires) => boolean): Promise<void> {
    while (!holds(this)) await new Promise<void>(resolve => this.#watchers.push(resolve))
  }

  /** Refuses connections from now on. */
  async stopApp(): Promise<void> {
    await new Promise(resolve => {
      this.#app.close(resolve)
      for (const { socket } of this.apps) socket.destroy()
    })
  }

  stop(): void {
    for (const { socket } of [...this.apps, ...this.#clients]) socket.destroy()
    this.#pump.close()
    this.#app.close()
    this.server.close()
    this.server.closeAllConnections()
  }

  #to({ url, rawHeaders }: IncomingMessage): Destination {
    const { answer, trailers, gate } = this.#options
    const to = { host: '127.0.0.1', port: this.#ports.app, path: url!, headers: rawHeaders }
    return { ...to, ...(answer && { answer }), ...(trailers && { trailers }), gate }
  }

  async #request(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const ending = await this.#pump.request(incoming, outgoing, this.#to(incoming))
    const status = statuses[ending]
    if (status) outgoing.writeHead(status, { 'Content-Length': 0 }).end()
    this.#ended(ending)
  }

  async #upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const ending = await this.#pump.upgrade(incoming, socket, head, this.#to(incoming))
    const status = statuses[ending]
    if (status) socket.end(`HTTP/1.1 ${status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
    this.#ended(ending)
  }

  #ended(ending: Ending): void {
    this.endings.push(ending)
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake()
  }
}

/** How often a part occurs. */
export const countOf = (text: string, part: string): number => text.split(part).length - 1

/** Answers each request without a body on a connection with these bytes. */
export const answering =
  (bytes: string, then: (wire: Wire) => void = () => {}): Script =>
  wire => {
    let answered = 0
    wire.socket.on('data', () => {
      for (; answered < countOf(wire.text, '\r\n\r\n'); answered += 1) {
        wire.socket.write(bytes, 'latin1', () => then(wire))
      }
    })
  }

/** For tests of a file, which may run at once. What it starts stops after them. */
export function useWires(): (script: Script, options?: WiresOptions) => Promise<{ wires: Wires; client: Wire }> {
  const started: Wires[] = []
  afterAll(() => {
    for (const wires of started) wires.stop()
  })
  return async (script, options) => {
    const wires = await Wires.start(script, options)
    started.push(wires)
    return { wires, client: await wires.client() }
  }
}
