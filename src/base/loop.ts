/**
 * The loop for all repeated work: a round, a rest, the next round. A wake ends the rest; during a round it makes another one
 * follow at once. An error ends the loop only if `failed` throws it on. No I/O except the clock.
 */
import { type Backoff, backoffMs } from './backoff.ts'
import { type Clock, notNeeded } from './clock.ts'

/** The rest after a round. */
export interface Rest {
  /** Milliseconds until the next round; a wake ends the rest. */
  readonly ms: number
  /** Milliseconds before `ms` that no wake ends, so that one round serves all wakes meanwhile. Default: 0. */
  readonly deafMs?: number
}

export interface LoopOptions {
  readonly clock: Clock
  /** @param signal aborted by `stop` */
  readonly round: (signal: AbortSignal) => Promise<Rest>
  /** Called after each failed round, except those that `stop` ended; `failures`: consecutive failures. */
  readonly failed: (error: unknown, failures: number) => Rest
}

export class Loop {
  readonly #options: LoopOptions
  readonly #stopped = new AbortController()
  #resting = new AbortController()
  /** `wake` was called since the last round began. */
  #woken = false
  #running: Promise<void> | undefined

  constructor(options: LoopOptions) {
    this.#options = options
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.#stopped.signal
  }

  /** Begins with a round, or with a rest. Does nothing if the loop has begun. */
  start(first?: Rest): void {
    this.#running ??= this.#run(first)
  }

  /** Makes a round begin soon: now, or after the one in progress. */
  wake(): void {
    this.#woken = true
    this.#resting.abort(notNeeded)
  }

  /** Lets no other round begin. Resolves when the one in progress is over. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    this.#resting.abort(notNeeded)
    await this.#running
  }

  async #run(first: Rest | undefined): Promise<void> {
    if (first) await this.#rest(first)
    for (let failures = 0; !this.signal.aborted; ) {
      this.#woken = false
      let rest: Rest
      try {
        rest = await this.#options.round(this.signal)
        failures = 0
      } catch (error) {
        if (this.signal.aborted) return
        failures += 1
        rest = this.#options.failed(error, failures)
      }
      await this.#rest(rest)
    }
  }

  async #rest({ ms, deafMs = 0 }: Rest): Promise<void> {
    const { clock } = this.#options
    if (deafMs > 0) await clock.sleep(deafMs, this.signal).catch(() => {})
    if (ms <= 0 || this.#woken || this.signal.aborted) return
    this.#resting = new AbortController()
    await clock.sleep(ms, this.#resting.signal).catch(() => {})
  }
}

/** A rest that grows with each consecutive failure, and that no wake ends. */
export function restAfter(failures: number, backoff: Backoff): Rest {
  return { ms: 0, deafMs: backoffMs(failures, backoff) }
}

/** Varies a time by up to a share of it, so that replicas that began together do not stay in step. */
export function jittered(ms: number, share: number, random: () => number = Math.random): number {
  return ms * (1 + share * (2 * random() - 1))
}
