/** When bills are compared, and which ends a watch has shown. Troubles of the cluster never keep bills from being sent. */
import { backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { jittered } from '../base/loop.ts'
import { briefly } from '../kube/client.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { type Compared, type CompareOptions, compareBills, type Gone } from './compare.ts'
import { backoff } from './outage.ts'
import { TableTrouble } from './table.ts'

export interface ComparingOptions extends CompareOptions {
  readonly clock: Clock
  readonly log: Log
  readonly compareMs: number
  /** Why no compare may put anything now: policies are missing, so a requester may be forged. */
  readonly unguarded: () => string | undefined
  readonly onCompared: (result: 'same' | 'different' | 'failed') => void
}

const jitter = 0.1

export class Comparing {
  readonly #options: ComparingOptions
  readonly #trouble: Rarely
  readonly #gone = new Map<string, Gone>()
  #dueMs = Number.NEGATIVE_INFINITY
  /** Not before: it has failed. */
  #againMs = Number.NEGATIVE_INFINITY
  #failures = 0

  constructor(options: ComparingOptions) {
    const { clock, log } = options
    this.#options = options
    this.#trouble = new Rarely({
      ...{ clock, log, trouble: 'bills cannot be compared with the LNamespaces' },
      over: 'bills can be compared again',
    })
  }

  soon(): void {
    this.#dueMs = Number.NEGATIVE_INFINITY
  }

  gone(gone: Gone): void {
    this.#gone.set(gone.uid, gone)
  }

  forget(): void {
    this.#gone.clear()
  }

  /** Whether an LNamespace is there, as the API server itself says; false where it does not answer: a compare asks again. */
  async isThere(gone: Gone, signal: AbortSignal): Promise<boolean> {
    try {
      return !(await this.#options.isGone(gone, signal))
    } catch {
      signal.throwIfAborted()
      return false
    }
  }

  /** Puts the ends that a watch has shown, as far as they are true. @returns whether one was put */
  async close(signal: AbortSignal): Promise<boolean> {
    const { isGone, store, clock } = this.#options
    if (clock.monotonicMs() < this.#againMs) return false
    let isAny = false
    try {
      for (const [uid, gone] of [...this.#gone]) {
        if (await isGone(gone, signal)) isAny = (await store.put({ ...gone, ends: true })) === 'put' || isAny
        this.#gone.delete(uid)
      }
    } catch (error) {
      this.#failed(error, signal)
    }
    return isAny
  }

  /**
   * @param complete whether the outbox has what was put
   * @returns undefined where nothing was compared
   * @throws {TableTrouble}
   */
  async compareIfDue(
    held: { readonly lease: string; readonly token: string },
    complete: boolean,
    signal: AbortSignal,
  ): Promise<Compared | undefined> {
    const { clock, compareMs, unguarded } = this.#options
    const nowMs = clock.monotonicMs()
    if ((complete && nowMs < this.#dueMs) || nowMs < this.#againMs || unguarded() !== undefined) return undefined
    try {
      const compared = await compareBills(this.#options, held, signal)
      this.#dueMs = clock.monotonicMs() + jittered(compareMs, jitter)
      this.#failures = 0
      this.#trouble.worked()
      return compared
    } catch (error) {
      this.#failed(error, signal)
      return undefined
    }
  }

  #failed(error: unknown, signal: AbortSignal): void {
    signal.throwIfAborted()
    this.#options.onCompared('failed')
    if (error instanceof TableTrouble) {
      // A refused request would be refused at once again, and the waiting bills would report that.
      if (error.reason === 'Refused') this.#againMs = this.#options.clock.monotonicMs() + this.#options.compareMs
      throw error
    }
    this.#failures += 1
    this.#againMs = this.#options.clock.monotonicMs() + backoffMs(this.#failures, backoff)
    this.#trouble.failed(briefly(error as Error))
  }
}
