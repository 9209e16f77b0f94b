/** A TCP proxy that fails as networks do: it refuses, falls silent, loses a reply, or leads to another server. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../../../dev/process/ports.ts'

/** Kept from one chunk for the next, since a trace may be split between them. */
const overlap = 200

/** One reply to lose: the reply to the next command with one of these traces, through any proxy. */
export class LostReply {
  readonly traces: readonly string[]
  /** Resolves once the server has carried out the command and the reply is lost. */
  readonly landed: Promise<void>
  readonly land: () => void
  taken = false

  constructor(traces: readonly string[]) {
    this.traces = traces
    const { promise, resolve } = Promise.withResolvers<void>()
    this.landed = promise
    this.land = resolve
  }
}

export class TcpProxy {
  readonly port: number
  readonly #sockets = new Set<Socket>()
  #lost: LostReply | undefined
  #target: { readonly host: string; readonly port: number }
  #server: Server | undefined
  #silent = false

  private constructor(port: number, url: string) {
    this.port = port
    this.#target = targetOf(url)
  }

  /** Starts a proxy to this address on a loopback port. It is shut at first. */
  static async before(url: string): Promise<TcpProxy> {
    return new TcpProxy(await freePort(), url)
  }

  open(): Promise<void> {
    const server = createServer(socket => this.#pass(socket))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.port, '127.0.0.1', resolve)
    })
  }

  /** Refuses connections, and breaks open ones. */
  shut(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    return new Promise(resolve => {
      if (!server) return resolve()
      server.close(() => resolve())
      this.#break()
    })
  }

  /** Passes nothing in either direction and closes nothing: connections stay open, and new ones seem to succeed. */
  silence(): void {
    this.#silent = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** Delivers now what was sent meanwhile, however late, even for clients that gave up. */
  resume(): void {
    this.#silent = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** Breaks open connections, and leads new ones to another server. */
  turnTo(url: string): void {
    this.#target = targetOf(url)
    this.#break()
  }

  /** Leads new connections to another server; open ones stay. */
  leadNewTo(url: string): void {
    this.#target = targetOf(url)
  }

  /** Loses this reply, if it comes through this proxy, and breaks its connection. */
  lose(reply: LostReply): void {
    this.#lost = reply
  }

  #break(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #pass(near: Socket): void {
    const far = connect(this.#target)
    let tail = ''
    this.#forward(far, near)
    this.#forward(near, far, chunk => {
      const lost = this.#lost
      if (!lost || lost.taken) return
      const text = tail + chunk.toString('latin1')
      tail = text.slice(-overlap)
      if (lost.traces.some(trace => text.includes(trace))) drop(lost, near, far)
    })
  }

  #forward(from: Socket, to: Socket, passedOn: (chunk: Buffer) => void = () => {}): void {
    this.#sockets.add(from)
    from.on('data', (chunk: Buffer) => {
      if (!to.write(chunk)) from.pause()
      passedOn(chunk)
    })
    to.on('drain', () => {
      if (!this.#silent) from.resume()
    })
    if (this.#silent) from.pause()
    from.once('end', () => to.end())
    from.on('error', () => to.destroy())
    from.once('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
  }
}

/** The server carries out everything that it was sent before it sees the end of the connection. */
function drop(lost: LostReply, near: Socket, far: Socket): void {
  lost.taken = true
  near.pause()
  far.removeAllListeners('data')
  far.resume()
  far.once('end', () => {
    near.destroy()
    lost.land()
  })
  far.end()
}

function targetOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}
