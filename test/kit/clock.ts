/** A clock for tests that only moves when told. */
import type { Clock } from '../../base/clock.ts'

interface Sleeper {
  readonly ms: number
  readonly atMs: number
  readonly wake: () => void
}

export class ManualClock implements Clock {
  #nowMs = 1_000
  readonly #sleepers = new Set<Sleeper>()
  #onSleep: (() => void) | undefined

  wallMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    return new Promise((resolve, reject) => {
      const sleeper = { ms, atMs: this.#nowMs + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      const abort = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      this.#onSleep?.()
    })
  }

  /** Resolves with the length of a sleep within these bounds, once somebody sleeps it. */
  async sleepBetween(fromMs: number, toMs: number): Promise<number> {
    for (;;) {
      const found = [...this.#sleepers].find(({ ms }) => ms >= fromMs && ms <= toMs)
      if (found) return found.ms
      await new Promise<void>(resolve => {
        this.#onSleep = resolve
      })
    }
  }

  /** Moves on, and wakes whose time has come. */
  advance(ms: number): void {
    this.#nowMs += ms
    for (const sleeper of [...this.#sleepers].filter(({ atMs }) => atMs <= this.#nowMs)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }
}
