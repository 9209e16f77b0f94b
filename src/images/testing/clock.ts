/** Time in which waits between attempts pass at once, and time-outs when a test says so. */
import type { Clock } from '../../base/clock.ts'

/** Sleeps of so many milliseconds and more are time-outs. */
const timeoutMs = 5000

interface Sleeper {
  readonly atMs: number
  readonly wake: () => void
}

export class HastyClock implements Clock {
  /** How long was waited, each time. */
  readonly waits: number[] = []
  #nowMs = Date.parse('2026-11-22T10:00:00Z')
  readonly #sleepers = new Set<Sleeper>()

  wallMs = () => this.#nowMs
  monotonicMs = () => this.#nowMs

  sleep = (ms: number, signal?: AbortSignal) => {
    if (signal?.aborted) return Promise.reject(signal.reason)
    if (ms >= timeoutMs) return this.#wait(ms, signal)
    this.waits.push(ms)
    this.pass(ms)
    return Promise.resolve()
  }

  /** How many time-outs are counted. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  pass(ms: number): void {
    this.#nowMs += ms
    for (const sleeper of [...this.#sleepers].filter(({ atMs }) => atMs <= this.#nowMs)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { atMs: this.#nowMs + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      const abort = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
    })
  }
}
