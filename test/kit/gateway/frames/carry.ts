/** Plays both sides of WebSockets on raw connections, and says what arrived. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { SideScript } from './script.ts'

export interface SequenceScript {
  readonly client: SideScript
  readonly app: SideScript
}

/** All bytes that each side got after the heads, until its connection was closed. */
export interface Arrived {
  readonly client: Buffer
  readonly app: Buffer
}

/** Where clients connect, and the head of an upgrade to a path of the app. */
export interface Way {
  readonly port: number
  upgrade(number: number): string
}

const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
const endOfHead = '\r\n\r\n'

/** The app: each connection plays the side that its path names, such as `/frames/17`. Other requests get an empty answer. */
export class FramesApp {
  readonly #server: Server
  readonly #waiting = new Map<number, { script: SideScript; arrived(bytes: Promise<Buffer>): void }>()

  private constructor() {
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => void this.#play(socket))
  }

  static async start(): Promise<FramesApp> {
    const app = new FramesApp()
    app.#server.listen(0, '127.0.0.1')
    await once(app.#server, 'listening')
    return app
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Resolves with what the connection of this number gets. */
  expect(number: number, script: SideScript): Promise<Buffer> {
    return new Promise(resolve => this.#waiting.set(number, { script, arrived: resolve }))
  }

  stop(): void {
    this.#server.close()
  }

  async #play(socket: Socket): Promise<void> {
    const tape = new Tape(socket)
    const head = await tape.head()
    const number = Number(/^GET \S*\/frames\/(\d+) /.exec(head)?.[1])
    if (!this.#waiting.has(number)) {
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
      return
    }
    const { script, arrived } = this.#waiting.get(number)!
    this.#waiting.delete(number)
    arrived(play(socket, tape, script, switched))
  }
}

/** Carries one sequence. Fails when the answer is not 101, unless the app resets the connection. */
export async function carry(way: Way, app: FramesApp, number: number, script: SequenceScript): Promise<Arrived> {
  const atApp = app.expect(number, script.app)
  const socket = connect({ port: way.port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  const tape = new Tape(socket)
  await once(socket, 'connect')
  const atClient = play(socket, tape, script.client, way.upgrade(number), async () => {
    const head = await tape.head()
    // A reset may overtake the answer.
    if (!head.startsWith('HTTP/1.1 101 ') && script.app.end !== 'reset')
      throw new Error(`the upgrade was answered: ${head.split('\r\n')[0]}`)
  })
  const [client, atTheApp] = await Promise.all([atClient, atApp])
  return { client, app: atTheApp }
}

/** Writes head and pieces, ends as the script says, and resolves with all that came when the connection is closed. */
async function play(
  socket: Socket,
  tape: Tape,
  script: SideScript,
  head: string,
  answered = async () => {},
): Promise<Buffer> {
  const { pieces, early, end } = script
  const [first, rest] = early ? [pieces.slice(0, 1), pieces.slice(1)] : [[], pieces]
  socket.write(Buffer.concat([Buffer.from(head, 'latin1'), ...first]))
  await answered()
  for (const piece of rest) {
    // One packet for each piece, as far as the kernel wants it.
    await new Promise(setImmediate)
    if (socket.destroyed) break
    if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => {}), tape.closed])
  }
  if (end === 'wait') await tape.ended
  if (end === 'reset') {
    if (socket.writableLength > 0) await Promise.race([once(socket, 'drain').catch(() => {}), tape.closed])
    socket.resetAndDestroy()
  } else socket.end()
  await tape.closed
  return tape.rest()
}

/** Keeps what comes on a connection. */
class Tape {
  readonly ended: Promise<void>
  readonly closed: Promise<void>
  readonly #chunks: Buffer[] = []
  readonly #headed = Promise.withResolvers<string>()
  #head: Buffer | undefined = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.closed = new Promise(resolve => socket.once('close', () => resolve()))
    this.ended = Promise.race([new Promise<void>(resolve => socket.once('end', () => resolve())), this.closed])
    socket.on('error', () => {})
    socket.on('data', bytes => this.#keep(bytes))
    void this.closed.then(() => this.#headed.resolve(this.#head?.toString('latin1') ?? ''))
  }

  /** Resolves with the head that comes first. */
  head(): Promise<string> {
    return this.#headed.promise
  }

  /** What came after the head. */
  rest(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  #keep(bytes: Buffer): void {
    if (this.#head === undefined) {
      this.#chunks.push(bytes)
      return
    }
    const head = Buffer.concat([this.#head, bytes])
    const at = head.indexOf(endOfHead)
    this.#head = at < 0 ? head : undefined
    if (at < 0) return
    const end = at + endOfHead.length
    if (head.length > end) this.#chunks.push(head.subarray(end))
    this.#headed.resolve(head.subarray(0, end).toString('latin1'))
  }
}
