/** A TCP server on this machine that answers requests by bytes, for answers that no HTTP server gives. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** Called with each head of a request: the lines up to the empty one. */
export type RespondRaw = (socket: Socket, head: string) => void

export class RawServer {
  /** The head of each request. */
  readonly heads: string[] = []
  /** Connections so far. */
  connections = 0
  readonly #server: Server
  readonly #open = new Set<Socket>()
  #watchers: (() => void)[] = []

  private constructor(respond: RespondRaw) {
    this.#server = createServer({ allowHalfOpen: false }, socket => this.#take(socket, respond))
  }

  static async start(respond: RespondRaw, host = '127.0.0.1'): Promise<RawServer> {
    const server = new RawServer(respond)
    server.#server.listen(0, host)
    await once(server.#server, 'listening')
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#open.size
  }

  /** Resolves when the test's condition on this server holds. It is judged at each connection, request and end. */
  async when(holds: (server: RawServer) => boolean): Promise<void> {
    while (!holds(this)) await new Promise<void>(resolve => this.#watchers.push(resolve))
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#open) socket.destroy()
    await closed
  }

  #take(socket: Socket, respond: RespondRaw): void {
    this.connections += 1
    this.#open.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#open.delete(socket)
      this.#wake()
    })
    socket.on('data', chunk => {
      text += chunk
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end)
        text = text.slice(end + 4)
        this.heads.push(head)
        respond(socket, head)
        this.#wake()
      }
    })
    this.#wake()
  }

  #wake(): void {
    for (const wake of this.#watchers.splice(0)) wake()
  }
}

const date = 'Thu, 14 Aug 2025 03:25:26 GMT'

/** A whole answer as bytes. */
export const rawAnswer = (body: string, { status = '200 OK', headers = '' } = {}): string =>
  `HTTP/1.1 ${status}\r\nDate: ${date}\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

/** Writes the same bytes again, as fast as the other side reads, until it closes the connection. */
export function flood(socket: Socket, bytes: string): void {
  const more = () => socket.write(bytes, error => void (error ?? setImmediate(more)))
  more()
}

const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'

/** Faulty answers that end, or break a limit of bytes. */
export const rawFaults = {
  'a reset connection': socket => void socket.resetAndDestroy(),
  'a connection closed without an answer': socket => void socket.end(),
  'an answer cut off': socket => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{"id"'),
  'a reset in the body': socket =>
    void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{"id"', () => socket.resetAndDestroy()),
  'no HTTP': socket => void socket.end('SSH-2.0-OpenSSH_9.2 secret-of-ada\r\n'),
  'chunks that are none': socket => void socket.write(`${chunked}zz\r\nsecret-of-ada\r\n`),
  'a length that is none': socket => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: ada\r\n\r\n[]'),
  'two lengths': socket => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n[] '),
  'a change of protocol': socket =>
    void socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
  'headers without end': socket => {
    socket.write('HTTP/1.1 200 OK\r\n')
    flood(socket, `X-Some: ${'a'.repeat(1000)}\r\n`)
  },
  'one header without end': socket => {
    socket.write('HTTP/1.1 200 OK\r\nX-Some: ')
    flood(socket, 'a'.repeat(1000))
  },
  'a body without end': socket => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    flood(socket, ' '.repeat(65_536))
  },
  'chunks without end': socket => {
    socket.write(chunked)
    flood(socket, `${'10000'}\r\n${' '.repeat(65_536)}\r\n`)
  },
  'an extension of a chunk without end': socket => {
    socket.write(`${chunked}2;`)
    flood(socket, 'a'.repeat(65_536))
  },
  'trailers without end': socket => {
    socket.write(`${chunked}2\r\n[]\r\n0\r\n`)
    flood(socket, `X-Some: ${'a'.repeat(1000)}\r\n`)
  },
  'a storm of 100 Continue': socket => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
  'a storm of 103 Early Hints': socket => flood(socket, 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'.repeat(1000)),
} as const satisfies Record<string, RespondRaw>

/** Faulty answers that do not end, and break no limit of bytes. */
export const rawHangs = {
  'no answer': () => {},
  'half a head': socket => void socket.write('HTTP/1.1 200 OK\r\nContent-'),
  'half a body': socket => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{"id"'),
  'an answer by single bytes': socket => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n')
    const timer = setInterval(() => socket.write(' '), 1)
    socket.once('close', () => clearInterval(timer))
  },
} as const satisfies Record<string, RespondRaw>
