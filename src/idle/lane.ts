/**
 * A lane takes workloads that are due and checks them, as many at once as it has places. What did not answer last time is in
 * the slow lane alone, so those that hang wait for each other.
 */
import type { Clock } from '../base/clock.ts'
import { type Log, logUnexpected } from '../base/log.ts'
import { jittered, Loop, type Rest } from '../base/loop.ts'
import { Slots } from '../base/slots.ts'
import type { DueStore } from '../store/due.ts'
import type { Lane as LaneName, Taken } from '../store/idle.ts'
import type { CheckResult } from './check.ts'
import type { Clocks } from './clocks.ts'
import { isFresh } from './look.ts'
import type { WorkloadOwner } from './workloads/workload.ts'

export interface LaneOptions {
  readonly name: LaneName
  readonly places: number
  readonly owners: readonly WorkloadOwner[]
  readonly store: Pick<DueStore, 'take'>
  /** Nothing is ever due later than in this time. */
  readonly farthestMs: number
  readonly clocks: Pick<Clocks, 'around'>
  /** `askedMs`: monotonic, before the taking. */
  readonly check: (owner: WorkloadOwner, taken: Taken, askedMs: number, signal: AbortSignal) => Promise<CheckResult>
  readonly clock: Clock
  readonly log: Log
  /** After each check; `failed`: it ended with an error, such as a Redis without an answer. */
  readonly onChecked: (owner: WorkloadOwner, taken: Taken, result: CheckResult | 'failed', seconds: number) => void
}

/** Pauses between takings. One serves all that is due by then. */
const pauseMs = 100
/** Another process may have made something due. */
const longestMs = 1000

export class Lane {
  readonly #options: LaneOptions
  readonly #slots: Slots
  readonly #loop: Loop
  readonly #running = new Set<Promise<void>>()
  /** The last taking left some that are due. */
  #more = false

  constructor(options: LaneOptions) {
    const { clock, log, places } = options
    this.#options = options
    this.#slots = new Slots(places)
    this.#loop = new Loop({
      clock,
      round: signal => this.#round(signal),
      failed: error => {
        logUnexpected(log, error, 'due checks cannot be taken')
        return { ms: longestMs }
      },
    })
    this.#slots.onFree(() => {
      if (this.#more) this.#loop.wake()
    })
  }

  get taken(): number {
    return this.#slots.taken
  }

  start(): void {
    this.#loop.start()
  }

  /** Checks under way are given up; another replica takes what they were about. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await Promise.all(this.#running)
  }

  async #round(signal: AbortSignal): Promise<Rest> {
    const { name, owners, store, farthestMs, clocks, clock } = this.#options
    let nextMs = longestMs
    this.#more = false
    for (const owner of owners) {
      const { free } = this.#slots
      if (free === 0) this.#more = true
      if (free === 0 || !isFresh(owner)) continue
      const askedMs = clock.monotonicMs()
      const { taken, nextInMs = longestMs } = await clocks.around(() =>
        store.take(owner.kind, name, { limit: free, farthestMs }),
      )
      for (const each of taken) this.#begin(owner, each, askedMs, signal)
      if (taken.length === free) this.#more = true
      else nextMs = Math.min(nextMs, Math.max(0, nextInMs))
    }
    return { ms: nextMs, deafMs: jittered(pauseMs, 0.5) }
  }

  #begin(owner: WorkloadOwner, taken: Taken, askedMs: number, signal: AbortSignal): void {
    this.#slots.tryEnter()
    const running = this.#run(owner, taken, askedMs, signal).finally(() => {
      this.#running.delete(running)
      this.#slots.leave()
    })
    this.#running.add(running)
  }

  async #run(owner: WorkloadOwner, taken: Taken, askedMs: number, signal: AbortSignal): Promise<void> {
    const { check, clock, log, onChecked } = this.#options
    const beganMs = clock.monotonicMs()
    const seconds = () => (clock.monotonicMs() - beganMs) / 1000
    try {
      onChecked(owner, taken, await check(owner, taken, askedMs, signal), seconds())
    } catch (error) {
      if (signal.aborted) return
      onChecked(owner, taken, 'failed', seconds())
      logUnexpected(log, error, 'a workload could not be checked')
    }
  }
}
