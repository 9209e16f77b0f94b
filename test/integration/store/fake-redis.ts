/**
 * A server that speaks Redis' protocol and answers as a test says: for versions that cannot be installed side by side, and
 * for error replies that a real server gives only in rare states.
 */
import { createServer, type Server, type Socket } from 'node:net'

/** The raw reply to a command; undefined for the usual reply. */
type Answer = (args: readonly string[], socket: Socket) => string | undefined

export const bulk = (text: string) => `$${Buffer.byteLength(text)}\r\n${text}\r\n`
export const error = (text: string) => `-${text}\r\n`
export const number = (n: number) => `:${n}\r\n`

export interface FakeInfo {
  readonly version?: string
  readonly role?: 'master' | 'slave'
  readonly more?: Readonly<Record<string, string>>
}

export class FakeRedis {
  info: FakeInfo
  answer: Answer
  /** Every received command, by name. */
  readonly heard: string[] = []
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(info: FakeInfo, answer: Answer) {
    this.info = info
    this.answer = answer
    this.#server = createServer(socket => this.#serve(socket))
  }

  static async start(info: FakeInfo = {}, answer: Answer = () => undefined): Promise<FakeRedis> {
    const fake = new FakeRedis(info, answer)
    await new Promise<void>(resolve => fake.#server.listen(0, '127.0.0.1', resolve))
    return fake
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => this.#sockets.delete(socket))
    let rest = ''
    socket.on('data', chunk => {
      const { commands, left } = parse(rest + chunk.toString('latin1'))
      rest = left
      for (const args of commands) {
        this.heard.push(args[0]!.toLowerCase())
        const reply = this.answer(args, socket) ?? this.#usual(args)
        if (socket.writable) socket.write(reply)
      }
    })
  }

  #usual([name, ...args]: readonly string[]): string {
    switch (name?.toLowerCase()) {
      case 'hello':
        return error("ERR unknown command 'HELLO'")
      case 'info':
        // Versions since 7.0 accept several sections at once.
        return args.length > 1 && (this.info.version ?? '7').startsWith('6') ? error('ERR syntax error') : this.#info()
      case 'xrevrange':
        return '*0\r\n'
      case 'evalsha':
      case 'eval':
        return number(1)
      case 'xread':
        // A waiting read gets no answer: the client's own deadline ends it.
        return ''
      default:
        return '+OK\r\n'
    }
  }

  #info(): string {
    const { version = '7.0.15', role = 'master', more = {} } = this.info
    const fields = { redis_version: version, run_id: 'fake', role, master_replid: 'history', loading: '0', ...more }
    return bulk(
      Object.entries(fields)
        .map(([name, value]) => `${name}:${value}\r\n`)
        .join(''),
    )
  }
}

/** The complete commands, as clients send them: arrays of bulk strings. */
function parse(text: string): { commands: string[][]; left: string } {
  const commands: string[][] = []
  let at = 0
  while (true) {
    const line = (from: number) => {
      const end = text.indexOf('\r\n', from)
      return end < 0 ? undefined : { value: Number(text.slice(from + 1, end)), next: end + 2 }
    }
    const head = line(at)
    if (!head) return { commands, left: text.slice(at) }
    let next = head.next
    const args: string[] = []
    for (let i = 0; i < head.value; i++) {
      const length = line(next)
      if (!length || length.next + length.value + 2 > text.length) return { commands, left: text.slice(at) }
      args.push(text.slice(length.next, length.next + length.value))
      next = length.next + length.value + 2
    }
    commands.push(args)
    at = next
  }
}
