/** A way to a server on which a test does what networks do: it is shut, falls silent, loses a reply, leads elsewhere. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../../../dev/process/ports.ts'

/** Of one chunk with the next: what is looked for may be cut in two. */
const overlap = 200

/** One reply that is to be lost: that to the next command which bears one of these traces, through whichever proxy. */
export class LostReply {
  readonly traces: readonly string[]
  /** Resolves once the server has carried the command out and the reply is lost. */
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

  /** Before the server of this address, on a port of loopback, shut. */
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

  /** Connections are refused, and those that were open are broken. */
  shut(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    return new Promise(resolve => {
      if (!server) return resolve()
      server.close(() => resolve())
      this.#break()
    })
  }

  /** Nothing passes any more, either way, and nobody is told: connections stay open, and new ones seem to succeed. */
  silence(): void {
    this.#silent = true
    for (const socket of this.#sockets) socket.pause()
  }

  /** What was sent meanwhile arrives now, however late, also of those who have given up. */
  resume(): void {
    this.#silent = false
    for (const socket of this.#sockets) socket.resume()
  }

  /** Breaks what is open; new connections lead to another server. */
  turnTo(url: string): void {
    this.#target = targetOf(url)
    this.#break()
  }

  /** New connections lead to another server; those that are open stay where they are. */
  leadNewTo(url: string): void {
    this.#target = targetOf(url)
  }

  /** Loses this reply, should it come over this way, and breaks the connection that it was to come over. */
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

/** The server carries out all that it was sent before it hears that nothing more comes. */
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
