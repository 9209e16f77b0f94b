/** The one fake clock. Only the test moves it, unless an option says otherwise. */
import { type Clock, systemClock } from '../../src/base/clock.ts'

export interface ManualClockOptions {
  /** Start of both of its times, in ms. Default: a second after the epoch. */
  readonly nowMs?: number
  /** Shorter sleeps pass at once and move the clock on; longer ones, such as time-outs, wait. Default: all wait. */
  readonly passBelowMs?: number
  /** Runs on with the system's clock; the test only adds to its time. Default: only the test moves it. */
  readonly runs?: boolean
}

interface Sleeper {
  readonly ms: number
  readonly atMs: number
  readonly wake: () => void
}

const still = { wallMs: () => 0, monotonicMs: () => 0 }

export class ManualClock implements Clock {
  /** The sleeps that passed at once, in order. */
  readonly waits: number[] = []
  /** Number of sleeps so far. */
  sleeps = 0
  readonly #base: Pick<Clock, 'wallMs' | 'monotonicMs'>
  readonly #runs: boolean
  readonly #passBelowMs: number
  #monotonicMs: number
  #wallMs: number
  readonly #sleepers = new Set<Sleeper>()
  #watchers: (() => void)[] = []

  constructor({ runs = false, nowMs = runs ? 0 : 1_000, passBelowMs = 0 }: ManualClockOptions = {}) {
    this.#base = runs ? systemClock : still
    this.#runs = runs
    this.#passBelowMs = passBelowMs
    this.#monotonicMs = nowMs
    this.#wallMs = nowMs
  }

  wallMs = (): number => this.#base.wallMs() + this.#wallMs
  monotonicMs = (): number => this.#base.monotonicMs() + this.#monotonicMs

  sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted) return Promise.reject(signal.reason)
    this.sleeps++
    if (this.#runs) return systemClock.sleep(ms, signal)
    if (ms >= this.#passBelowMs) return this.#wait(ms, signal)
    this.waits.push(ms)
    this.advance(ms)
    return Promise.resolve()
  }

  after = (ms: number, ring: () => void): (() => void) => {
    const cancelled = new AbortController()
    const wake = () => {
      // Its time may be over, and not handled yet.
      if (!cancelled.signal.aborted) ring()
    }
    this.sleep(ms, cancelled.signal).then(wake, () => {})
    return () => cancelled.abort()
  }

  /** Number of sleepers now. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  /** Resolves when a sleeper waits that wakes in exactly this time. */
  async whenSleeping(ms: number): Promise<void> {
    await this.#whenSome(({ atMs }) => atMs === this.#monotonicMs + ms)
  }

  /** Resolves with the length of a sleep within these bounds, once there is one. */
  async sleepBetween(fromMs: number, toMs: number): Promise<number> {
    return (await this.#whenSome(({ ms }) => ms >= fromMs && ms <= toMs)).ms
  }

  /** Advances the clock, and wakes the sleepers that are due. */
  advance(ms: number): void {
    this.#monotonicMs += ms
    this.#wallMs += ms
    for (const sleeper of [...this.#sleepers].filter(({ atMs }) => atMs <= this.#monotonicMs)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  /** Moves the wall clock alone. */
  stepWall(ms: number): void {
    this.#wallMs += ms
  }

  #wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { ms, atMs: this.#monotonicMs + ms, wake: resolve }
      this.#sleepers.add(sleeper)
      const abort = () => {
        this.#sleepers.delete(sleeper)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      for (const watcher of this.#watchers.splice(0)) watcher()
    })
  }

  async #whenSome(isMeant: (sleeper: Sleeper) => boolean): Promise<Sleeper> {
    for (;;) {
      const found = [...this.#sleepers].find(isMeant)
      if (found) return found
      await new Promise<void>(resolve => this.#watchers.push(resolve))
    }
  }
}

/** Short waits between attempts pass at once; time-outs, which are longer, wait for the test. */
export const hastyClock = (): ManualClock =>
  new ManualClock({ nowMs: Date.parse('2026-11-22T10:00:00Z'), passBelowMs: 5000 })
