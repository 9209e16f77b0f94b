/**
 * Reports the use of apps to Redis, for the idle engine. The first use after some silence is reported before it is let through,
 * and an app that is being stopped does not get it any more. All others go with the next flush.
 */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { type Log, logUnexpected } from '../../base/log.ts'
import { Loop } from '../../base/loop.ts'
import type { TrafficStore, Use } from '../../store/traffic.ts'

/** After so long a silence of an app its next use is reported at once. */
const silenceMs = 30_000
const flushMs = 5000
/** After a flush that failed. */
const againMs = 1000
/** A reported use of this age is forgotten. */
const keptMs = 600_000

interface Known {
  /** The time of the last use, by the monotonic clock. */
  lastMs: number
  isTold: boolean
  /** The first use after silence, on its way to Redis. */
  telling: Promise<boolean> | undefined
  /** Requests that are open. */
  open: number
}

export interface ActivityOptions {
  readonly traffic: Pick<TrafficStore, 'join' | 'touch' | 'flush' | 'leave'>
  readonly clock: Clock
  readonly log: Log
}

export class Activity {
  readonly #options: ActivityOptions
  readonly #apps = new Map<string, Known>()
  readonly #loop: Loop

  constructor(options: ActivityOptions) {
    this.#options = options
    const { clock, log } = options
    this.#loop = new Loop({
      clock,
      round: async () => {
        await this.#flush()
        return { ms: flushMs }
      },
      failed: error => {
        logUnexpected(log, error, 'activity could not be reported')
        return { ms: againMs }
      },
    })
  }

  /**
   * Must have succeeded before anything is let through: nobody would wait for what this replica has to tell.
   * @throws {RetryLater} when Redis does not answer
   */
  async join(): Promise<void> {
    await this.#options.traffic.join()
    this.#loop.start({ ms: flushMs })
  }

  /** Before a request is let through. Returns false where the app is being stopped. */
  use(id: string): boolean | Promise<boolean> {
    const nowMs = this.#options.clock.monotonicMs()
    const known = this.#apps.get(id)
    if (known?.telling) return known.telling
    if (known === undefined || nowMs - known.lastMs > silenceMs) return this.#tell(id)
    this.#note(known, nowMs)
    return true
  }

  /** Notes a use that cannot wait, such as a frame of a WebSocket. */
  saw(id: string): void {
    this.#note(this.#knownOf(id), this.#options.clock.monotonicMs())
  }

  /** An answer that takes long is use as long as it takes. Returns what ends it. */
  begin(id: string): () => void {
    const known = this.#knownOf(id)
    known.open += 1
    return () => {
      known.open -= 1
      this.#note(known, this.#options.clock.monotonicMs())
    }
  }

  /** Reports the rest; this replica is not waited for any more. */
  async leave(): Promise<void> {
    const { traffic, log } = this.#options
    await this.#loop.stop()
    const uses = this.#untold()
    await traffic.leave(uses).catch(error => logUnexpected(log, error, 'the last activity could not be reported'))
  }

  #tell(id: string): Promise<boolean> {
    const known = this.#knownOf(id)
    known.telling = this.#touch(id, known).finally(() => {
      known.telling = undefined
    })
    return known.telling
  }

  async #touch(id: string, known: Known): Promise<boolean> {
    const { traffic, clock } = this.#options
    const atMs = clock.monotonicMs()
    try {
      const answer = await traffic.touch({ kind: 'app', id })
      // The next one asks again: it may be started meanwhile.
      if (answer === 'stopping') return false
      known.lastMs = Math.max(known.lastMs, atMs)
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error
      this.#note(known, atMs)
    }
    return true
  }

  #knownOf(id: string): Known {
    const found = this.#apps.get(id)
    if (found) return found
    const known: Known = { lastMs: Number.NEGATIVE_INFINITY, isTold: true, telling: undefined, open: 0 }
    this.#apps.set(id, known)
    return known
  }

  #note(known: Known, nowMs: number): void {
    known.lastMs = nowMs
    known.isTold = false
  }

  /** Also without any use: silence counts only where this replica has reported it. */
  async #flush(): Promise<void> {
    const uses = this.#untold()
    try {
      await this.#options.traffic.flush(uses)
    } catch (error) {
      for (const { id } of uses) this.#knownOf(id).isTold = false
      throw error
    }
    this.#forget()
  }

  #untold(): Use[] {
    const nowMs = this.#options.clock.monotonicMs()
    const uses: Use[] = []
    for (const [id, known] of this.#apps) {
      if (known.open > 0) this.#note(known, nowMs)
      if (known.isTold) continue
      known.isTold = true
      uses.push({ kind: 'app', id, atMs: known.lastMs })
    }
    return uses
  }

  #forget(): void {
    const beforeMs = this.#options.clock.monotonicMs() - keptMs
    for (const [id, known] of this.#apps) {
      if (known.isTold && !known.telling && known.open === 0 && known.lastMs < beforeMs) this.#apps.delete(id)
    }
  }
}
