/** One shell for all commands of a day, so that variables and background jobs of one command remain for the next. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as later } from 'node:timers/promises'
import { type Clock, systemClock } from '../../src/base/clock.ts'

export interface ShellOptions {
  readonly cwd: string
  /** The whole environment of the commands. */
  readonly env: NodeJS.ProcessEnv
  /** For scripts and outputs. */
  readonly folder: string
  readonly clock?: Clock
  readonly signal?: AbortSignal | undefined
}

export interface Outcome {
  /** Null when the shell itself ended, or had to be ended. */
  readonly code: number | null
  /** stdout and stderr, interleaved as written. */
  readonly output: string
  readonly seconds: number
}

/** A command in the background counts as started when it has printed something. */
const pollMs = 50

export class Shell {
  readonly #options: ShellOptions
  readonly #clock: Clock
  readonly #child: ChildProcess
  readonly #codes: AsyncIterator<string>
  #commands = 0

  constructor(options: ShellOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const { cwd, env } = options
    // A process group of its own, so that jobs in the background end with it.
    const stdio = ['pipe', 'ignore', 'ignore', 'pipe'] as const
    this.#child = spawn('bash', ['--noprofile', '--norc'], { cwd, env, detached: true, stdio: [...stdio] })
    this.#child.stdin!.on('error', () => {})
    this.#codes = createInterface(this.#child.stdio[3] as Readable)[Symbol.asyncIterator]()
    this.#child.stdin!.write('set -uo pipefail\n')
  }

  /** Runs one command to its end. A command longer than `limitMs` is ended together with the shell. */
  async run(text: string, limitMs: number): Promise<Outcome> {
    const { folder, signal } = this.#options
    const name = join(folder, `command-${++this.#commands}`)
    writeFileSync(`${name}.sh`, `${text}\n`)
    closeSync(openSync(`${name}.out`, 'w'))
    const begunMs = this.#clock.monotonicMs()
    const code = await this.#ask(
      `. ${quote(`${name}.sh`)} </dev/null >${quote(`${name}.out`)} 2>&1; echo $? >&3\n`,
      limitMs,
    )
    signal?.throwIfAborted()
    const output = () => readFileSync(`${name}.out`, 'utf8')
    while (code === 0 && endsInBackground(text) && output() === '' && this.#clock.monotonicMs() - begunMs < limitMs) {
      await this.#clock.sleep(pollMs, signal)
    }
    return { code, output: output(), seconds: (this.#clock.monotonicMs() - begunMs) / 1000 }
  }

  async #ask(line: string, limitMs: number): Promise<number | null> {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, ...(this.#options.signal ? [this.#options.signal] : [])])
    const code = this.#codes.next().then(({ done, value }) => (done ? null : Number(value)))
    const late = later(limitMs, null, { signal, ref: false }).catch(() => null)
    this.#child.stdin!.write(line)
    const first = await Promise.race([code, late])
    over.abort()
    if (first === null) this.close()
    return first
  }

  /** Ends the shell and all jobs in the background. Can be called again. */
  close(): void {
    try {
      process.kill(-this.#child.pid!, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
const endsInBackground = (text: string) => /[^&]&\s*(#.*)?$/.test(text)
