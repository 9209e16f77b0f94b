import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { cacheFolder } from './paths.ts'

/** One part of the work that has ended, in order of ends. */
export interface DonePart {
  name: string
  seconds: number
}

/** Prints to stderr the current work, its last duration, and a summary. */
export interface Progress {
  /** Does a part of the work under a name. Remembers its duration on success. */
  part<T>(name: string, work: () => Promise<T>): Promise<T>
  /** Prints a line that stays. */
  say(text: string): void
  /** The parts that have ended. */
  done(): DonePart[]
  /** Prints one line per ended part, with its seconds. */
  summary(): void
}

export interface ProgressOptions {
  clock?: Clock
  /** A JSON file for durations. */
  durationsFile?: string
  out?: { write(text: string): unknown; isTTY?: boolean; columns?: number }
}

type Durations = Record<string, number>

/** Durations in seconds by the part's name; a missing or broken file counts as empty. */
export function readDurations(file: string): Durations {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof content !== 'object' || content === null) return {}
    return Object.fromEntries(Object.entries(content).filter(([, seconds]) => typeof seconds === 'number'))
  } catch {
    return {}
  }
}

/** Remembers one duration. Reads the file each time: other runs write it too. */
export function rememberDuration(file: string, name: string, seconds: number): void {
  mkdirSync(dirname(file), { recursive: true })
  const part = `${file}.${process.pid}`
  writeFileSync(part, `${JSON.stringify({ ...readDurations(file), [name]: seconds }, null, 2)}\n`)
  renameSync(part, file)
}

export function formatSeconds(seconds: number): string {
  return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
}

const redrawMs = 1000

export function createProgress(options: ProgressOptions = {}): Progress {
  return new ProgressOnStream(
    options.clock ?? systemClock,
    options.durationsFile ?? join(cacheFolder(), 'durations.json'),
    options.out ?? process.stderr,
  )
}

class ProgressOnStream implements Progress {
  readonly #clock: Clock
  readonly #durationsFile: string
  readonly #out: NonNullable<ProgressOptions['out']>
  readonly #running = new Map<symbol, { name: string; begunMs: number; lastSeconds: number | undefined }>()
  readonly #done: DonePart[] = []
  #redraw: NodeJS.Timeout | undefined

  constructor(clock: Clock, durationsFile: string, out: NonNullable<ProgressOptions['out']>) {
    this.#clock = clock
    this.#durationsFile = durationsFile
    this.#out = out
  }

  async part<T>(name: string, work: () => Promise<T>): Promise<T> {
    const key = Symbol(name)
    const begunMs = this.#clock.monotonicMs()
    const lastSeconds = readDurations(this.#durationsFile)[name]
    this.#running.set(key, { name, begunMs, lastSeconds })
    this.#begin(name, lastSeconds)
    const end = (mark: string) => {
      const seconds = (this.#clock.monotonicMs() - begunMs) / 1000
      this.#running.delete(key)
      this.say(`${mark} ${name}  ${formatSeconds(seconds)}`)
      return seconds
    }
    try {
      const result = await work()
      const seconds = end('✓')
      this.#done.push({ name, seconds })
      rememberDuration(this.#durationsFile, name, Math.round(seconds * 100) / 100)
      return result
    } catch (error) {
      end('✗')
      throw error
    }
  }

  say(text: string): void {
    this.#out.write(this.#out.isTTY ? `\r\x1b[K${text}\n` : `${text}\n`)
    this.#draw()
  }

  done(): DonePart[] {
    return [...this.#done]
  }

  summary(): void {
    if (this.#done.length === 0) return
    const width = Math.max(...this.#done.map(part => part.name.length))
    this.say('What was done:')
    for (const { name, seconds } of this.#done)
      this.say(`  ${name.padEnd(width)}  ${formatSeconds(seconds).padStart(7)}`)
  }

  #begin(name: string, lastSeconds: number | undefined): void {
    if (!this.#out.isTTY) {
      this.say(`… ${name}${lastSeconds === undefined ? '' : ` (last time ${formatSeconds(lastSeconds)})`}`)
      return
    }
    this.#redraw ??= setInterval(() => this.#draw(), redrawMs).unref()
    this.#draw()
  }

  /** Shows the running parts in the last line of a terminal, updated each second. */
  #draw(): void {
    if (!this.#out.isTTY) return
    if (this.#running.size === 0) {
      clearInterval(this.#redraw)
      this.#redraw = undefined
      return
    }
    const nowMs = this.#clock.monotonicMs()
    const parts = [...this.#running.values()].map(({ name, begunMs, lastSeconds }) => {
      const last = lastSeconds === undefined ? '' : ` of ${formatSeconds(lastSeconds)}`
      return `${name} ${Math.round((nowMs - begunMs) / 1000)} s${last}`
    })
    const line = `… ${parts.join(' · ')}`.slice(0, (this.#out.columns ?? 80) - 1)
    this.#out.write(`\r\x1b[K${line}`)
  }
}
