/** A way to Redis on which replies can be lost after what they answer was applied. */
import { readdirSync, readFileSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { defineCommands } from '../../../src/store/scripts.ts'

const commands = new URL('../../../src/store/commands/', import.meta.url)

/** By what a command of ours is known on the way: its source's first line, or, once Redis has that, the whole's hash. */
function tracesOf(command: string): readonly string[] {
  const file = readdirSync(commands).find(name => name.startsWith(`${command}.`))
  const redis = new Redis({ lazyConnect: true })
  defineCommands(redis)
  const { sha } = (redis as unknown as { scriptsSet: Record<string, { sha: string }> }).scriptsSet[command] ?? {}
  redis.disconnect()
  if (!file || !sha) throw new Error(`no such command: ${command}`)
  return [sha, Buffer.from(readFileSync(new URL(file, commands), 'utf8').split('\n')[0]!).toString('latin1')]
}

/** Of one chunk with the next: what is looked for may be cut in two. */
const overlap = 200

interface Drop {
  readonly traces: readonly string[]
  readonly landed: () => void
}

export class LossyProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #drops = new Set<Drop>()

  private constructor(port: number) {
    this.#server = createServer(socket => this.#pass(socket, connect(port, '127.0.0.1')))
  }

  /** Listening, before the Redis on this port of loopback. */
  static async before(port: number): Promise<LossyProxy> {
    const proxy = new LossyProxy(port)
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  /**
   * Loses the next reply to a command, and breaks the connection that it was to come over. Resolves once Redis has
   * carried the command out and the reply is lost.
   */
  dropReplyAfter(command: string): Promise<void> {
    return new Promise(landed => this.#drops.add({ traces: tracesOf(command), landed }))
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    return new Promise(resolve => this.#server.close(() => resolve()))
  }

  #pass(near: Socket, far: Socket): void {
    let tail = ''
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(one)
      one.on('error', () => other.destroy())
      one.once('close', () => {
        this.#sockets.delete(one)
        other.destroy()
      })
    }
    far.on('data', (chunk: Buffer) => near.write(chunk))
    near.on('data', (chunk: Buffer) => {
      const text = tail + chunk.toString('latin1')
      tail = text.slice(-overlap)
      const drop = [...this.#drops].find(({ traces }) => traces.some(trace => text.includes(trace)))
      far.write(chunk)
      if (drop) this.#lose(drop, near, far)
    })
  }

  /** Redis carries out all that it was sent before it hears that nothing more comes. */
  #lose(drop: Drop, near: Socket, far: Socket): void {
    this.#drops.delete(drop)
    far.removeAllListeners('data')
    far.resume()
    near.pause()
    far.once('end', () => {
      near.destroy()
      drop.landed()
    })
    far.end()
  }
}
