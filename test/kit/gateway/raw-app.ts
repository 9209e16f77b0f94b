/** An app that answers by bytes, and remembers all that it got. */
import { once } from 'node:events'
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { type Script, Wire } from './wires.ts'

export class RawApp {
  /** Its connections. */
  readonly wires: Wire[] = []
  readonly #server: Server
  #watchers: (() => void)[] = []

  private constructor(script: Script) {
    this.#server = createServer({ allowHalfOpen: true }, socket => {
      const wire = new Wire(socket)
      this.wires.push(wire)
      for (const wake of this.#watchers.splice(0)) wake()
      void script(wire, this.wires.length)
    })
  }

  static async start(script: Script): Promise<RawApp> {
    const app = new RawApp(script)
    app.#server.listen(0, '127.0.0.1')
    await once(app.#server, 'listening')
    return app
  }

  get address(): { ip: string; port: number } {
    return { ip: '127.0.0.1', port: (this.#server.address() as AddressInfo).port }
  }

  /** All that came, of all connections. */
  get text(): string {
    return this.wires.map(({ text }) => text).join('')
  }

  /** The request lines that came. */
  get lines(): string[] {
    return this.text.match(/^[A-Z]+ \S* HTTP\/1\.[01]$/gm) ?? []
  }

  /** Resolves with the connection of this number, from 1. */
  async wire(count: number): Promise<Wire> {
    while (this.wires.length < count) await new Promise<void>(resolve => this.#watchers.push(resolve))
    return this.wires[count - 1]!
  }

  stop(): void {
    for (const { socket } of this.wires) socket.destroy()
    this.#server.close()
  }
}

/** An app that reads requests as HTTP servers do, and remembers which it has read. */
export class HttpApp {
  readonly lines: string[] = []
  readonly #server: HttpServer

  private constructor() {
    this.#server = createHttpServer((incoming, outgoing) => {
      this.lines.push(`${incoming.method} ${incoming.url}`)
      incoming.resume()
      incoming.once('end', () => outgoing.end('read'))
    })
    this.#server.on('upgrade', ({ method, url }, socket) => {
      this.lines.push(`${method} ${url}`)
      socket.destroy()
    })
    this.#server.on('clientError', (_, socket) => socket.destroy())
  }

  static async start(): Promise<HttpApp> {
    const app = new HttpApp()
    app.#server.listen(0, '127.0.0.1')
    await once(app.#server, 'listening')
    return app
  }

  get address(): { ip: string; port: number } {
    return { ip: '127.0.0.1', port: (this.#server.address() as AddressInfo).port }
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

const switching =
  'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: y\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

const drip = (wire: Wire) => {
  wire.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
  const timer = setInterval(() => wire.write('4\r\ndrip\r\n'), 20)
  wire.socket.once('close', () => clearInterval(timer))
}

/**
 * Answers requests with the head that came as text, and WebSockets with the bytes that come. An answer at `…/stream` has no
 * end.
 */
export const echo: Script = wire => {
  let answered = 0
  let isOpen = false
  // Else each connection that a gateway has closed would stay: one rollout makes more of them than a process may have open.
  wire.socket.once('end', () => wire.socket.end())
  wire.socket.on('data', bytes => {
    if (isOpen) {
      wire.socket.write(bytes)
      return
    }
    for (let end = wire.text.indexOf('\r\n\r\n', answered); end >= 0; end = wire.text.indexOf('\r\n\r\n', answered)) {
      const head = wire.text.slice(answered, end + 4)
      answered = end + 4
      isOpen = /^upgrade: websocket$/im.test(head)
      if (isOpen) wire.write(switching)
      else if (/\/stream HTTP/.test(head)) drip(wire)
      else wire.write(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${head.length}\r\n\r\n${head}`)
    }
  })
}
