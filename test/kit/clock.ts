/** The one fake clock: it moves when a test says so, or as an option lets it. */
import { type Clock, systemClock } from '../../src/base/clock.ts'

export interface ManualClockOptions {
  /** Where both of its times begin, in ms. Default: a second after the epoch. */
  readonly nowMs?: number
  /** Sleeps shorter than this pass at once, moving the clock on; longer ones, such as time-outs, wait. Default: all wait. */
  readonly passBelowMs?: number
  /** Runs on with the system's clock, and sleeps as long as that: a test only adds to its time. Default: it stands still. */
  readonly runs?: boolean
}

interface Sleeper {
  readonly ms: number
  readonly atMs: number
  readonly wake: () => void
}

const still = { wallMs: () => 0, monotonicMs: () => 0 }

export class ManualClock implements Clock {
  /** The sleeps that passed at once, in their order. */
  readonly waits: number[] = []
  /** How often somebody began to sleep. */
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

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  /** Resolves when someone sleeps who wakes after exactly so long. */
  async whenSleeping(ms: number): Promise<void> {
    await this.#whenSome(({ atMs }) => atMs === this.#monotonicMs + ms)
  }

  /** Resolves with the length of a sleep within these bounds, once somebody sleeps it. */
  async sleepBetween(fromMs: number, toMs: number): Promise<number> {
    return (await this.#whenSome(({ ms }) => ms >= fromMs && ms <= toMs)).ms
  }

  /** Moves on, and wakes whose time has come. */
  advance(ms: number): void {
    this.#monotonicMs += ms
    this.#wallMs += ms
    for (const sleeper of [...this.#sleepers].filter(({ atMs }) => atMs <= this.#monotonicMs)) {
      this.#sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  /** Sets the wall clock alone to another time. */
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

/** Waits between attempts pass at once; time-outs, which are longer, when a test says so. */
export const hastyClock = (): ManualClock =>
  new ManualClock({ nowMs: Date.parse('2026-11-22T10:00:00Z'), passBelowMs: 5000 })
