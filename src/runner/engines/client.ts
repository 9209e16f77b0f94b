/** The command line of `docker` or `podman`, as a supervisor uses it. */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Readable, Transform } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Clock } from '../../base/clock.ts'
import type { EngineName } from '../state/options.ts'

export interface Said {
  readonly code: number | null
  readonly out: string
  readonly err: string
  /** It was ended, since it took longer than its limit. */
  readonly isLate: boolean
}

export interface Saying {
  /** Variables of the client's own environment. */
  readonly own?: Readonly<Record<string, string>>
  readonly limitMs?: number | undefined
  readonly onSpawn?: (child: ChildProcess) => void
}

const mostWords = 500

export class Client {
  readonly #engine: EngineName
  readonly #cwd: string
  readonly #clock: Clock

  /** @param cwd where its processes may leave files: conmon, which podman starts, marks there that memory was used up */
  constructor(engine: EngineName, cwd: string, clock: Clock) {
    this.#engine = engine
    this.#cwd = cwd
    this.#clock = clock
  }

  /** Resolves with any exit code. @throws when the client cannot be started */
  async say(args: readonly string[], { own = {}, limitMs, onSpawn }: Saying = {}): Promise<Said> {
    const child = this.#spawn(args, own)
    onSpawn?.(child)
    let isLate = false
    const end = () => {
      isLate = true
      child.kill('SIGKILL')
    }
    const cancel = limitMs === undefined ? () => {} : this.#clock.after(limitMs, end)
    try {
      const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
      return { code, out, err, isLate }
    } catch (error) {
      throw this.#inWords(error)
    } finally {
      cancel()
    }
  }

  /**
   * Runs a command whose output is a container's.
   * @throws when the client cannot be started
   */
  async stream(args: readonly string[]) {
    const child = this.#spawn(args, {})
    const exited = once(child, 'exit').catch(error => Promise.reject(this.#inWords(error)))
    const tail = new Tail()
    const stderr = child.stderr.pipe(tail)
    if (child.pid === undefined) await exited
    return { stdout: child.stdout, stderr, tail, exited }
  }

  #spawn(
    args: readonly string[],
    own: Readonly<Record<string, string>>,
  ): ChildProcessByStdio<null, Readable, Readable> {
    const env = { ...process.env, ...own }
    return spawn(this.#engine, args, { cwd: this.#cwd, stdio: ['ignore', 'pipe', 'pipe'], env })
  }

  #inWords(error: unknown): Error {
    const { code, message } = error as NodeJS.ErrnoException
    return new Error(
      code === 'ENOENT' ? `there is no ${this.#engine} here` : `${this.#engine} could not be run: ${message}`,
    )
  }
}

/** Passes all on, and keeps the end of it: where a container cannot be started, the client says why among its output. */
class Tail extends Transform {
  #last = Buffer.alloc(0)

  override _transform(chunk: Buffer, _: BufferEncoding, done: (error: null, chunk: Buffer) => void): void {
    this.#last = Buffer.concat([this.#last, chunk]).subarray(-4 * mostWords)
    done(null, chunk)
  }

  get words(): string {
    return wordsOf(this.#last.toString())
  }
}

/** The last problem in what a client said, without the warnings before it. */
export function wordsOf(err: string): string {
  const lines = err.trim().split('\n')
  const last = lines.findLastIndex(line => /^(\S+: )?Error\b/.test(line))
  return lines.slice(Math.max(last, 0)).join('\n').slice(-mostWords)
}
