/**
 * One run of an operation by its owner: from the claim until the operation is ended, handed over or lost.
 *
 * The effect of each error. The first row that matches applies:
 *
 * | error | what happens | decided in |
 * |---|---|---|
 * | StartOver | the phase begins its list of steps anew | phase.ts |
 * | RetryLater | the step is tried again, until the deadline | phase.ts |
 * | KubeError | refused (403, 404): tried again for 10 s; afterwards, or any other at once: as NeedsSomeone | phase.ts |
 * | DeadlinePassed | as NeedsSomeone; objects of a failed creation are removed later, by a kind that does so | course.ts |
 * | NeedsSomeone | the operation ends `failed` with a reason; a creation only if it is not complete, and is cleaned up | course.ts |
 * | HandOver | the lease is given back, so that another replica goes on at once | here |
 * | LetGo | the lease is given back, so that the next claim, also by this replica, goes on at once | here |
 * | LeaseLost | counted as lost; the lease is given back if it is still this owner's | here |
 * | Fenced | counted as fenced; the lease is given back if it is still this owner's; nothing else is written | here |
 * | any other | logged as a defect; the lease is left to expire, so that the next owner does not hit it at once | here |
 *
 * After a RetryLater of Redis the write is repeated for as long as the lease lasts (journal.ts). The kind of the subject
 * decides whether a creation is complete, and how it is cleaned up (kind.ts).
 */
import { notNeeded } from '../base/clock.ts'
import { Fenced, LetGo } from '../base/errors.ts'
import { LeaseLost } from '../leases/leases.ts'
import { runCourse } from './course.ts'
import type { Owned } from './owned.ts'
import type { Shape } from './steps.ts'

const unsettled = 'it is not known whether requests of an operation are under way'

/** Stops a run without an error, so that another replica continues it. */
class HandOver extends Error {
  override readonly name = 'HandOver'
}

export class OperationRun<K extends Shape> {
  readonly #owned: Owned<K>

  constructor(owned: Owned<K>) {
    this.#owned = owned
  }

  get op(): number {
    return this.#owned.op
  }

  /** @returns whether the operation has ended; false if this replica no longer owns it. Never rejects */
  async run(): Promise<boolean> {
    const { lease, phases, turn, work } = this.#owned
    let off = () => {}
    const lost = () => phases.stop(lease.signal.reason)
    lease.signal.addEventListener('abort', lost, { once: true })
    try {
      off = work.watch?.() ?? off
      await this.#owned.pass('owned')
      lease.check()
      await this.#recall()
      await runCourse(this.#owned)
      return true
    } catch (error) {
      if (this.#reportEnd(error)) await this.#release()
      return false
    } finally {
      lease.signal.removeEventListener('abort', lost)
      off()
      turn.end()
    }
  }

  /** Stops at the current step, so that another replica continues. */
  handOver(): void {
    this.#owned.phases.stop(new HandOver('handed over'))
  }

  /** A new owner reads the events written so far, so that none is written twice. */
  async #recall(): Promise<void> {
    const { claim, span, options, log, journal } = this.#owned
    const { record } = claim
    if (record.claims <= 1) return span.child('wait for an owner', { startMs: record.acceptedAtMs }).end()
    options.metrics.operationsResumed.inc({ kind: record.kind, subject_kind: options.kind.name })
    log.info({ step: record.step, attempts: record.attempts }, 'operation resumed')
    await journal.recall()
  }

  /**
   * Logs why the run stops before the end of its operation, by the last rows of the table.
   * @returns whether the lease is to be released
   */
  #reportEnd(error: unknown): boolean {
    const { log, options } = this.#owned
    if (error instanceof HandOver) {
      log.info('operation handed over')
      return true
    }
    if (error instanceof LetGo) {
      log.info({ reason: error.message }, 'operation let go')
      return true
    }
    if (error instanceof Fenced) {
      // Counted here, not where leases are extended. An extension that crosses the end of an operation finds no lease,
      // although none was lost. A lease that its owner found overdue is dropped before the next extension.
      const outcome = error instanceof LeaseLost ? 'lost' : 'fenced'
      options.metrics.leases.inc({ outcome, subject_kind: options.kind.name })
      log.info({ reason: error.message }, 'operation is no longer ours')
      return true
    }
    log.error({ err: error }, 'operation let go after an unexpected error')
    return false
  }

  /** Releases the lease once no write of this run can still arrive. */
  async #release(): Promise<void> {
    const { options, work, lease, log } = this.#owned
    const { clock, kind, owners } = options
    const done = new AbortController()
    const late = clock.sleep(kind.limits.longestRequestMs, done.signal).catch(() => {})
    const settled = (async () => work.settled())().catch(error => log.error({ err: error }, unsettled))
    await Promise.race([settled, late])
    done.abort(notNeeded)
    await this.#owned.pass('release.before-act')
    await owners.release(lease).catch(() => {})
    await this.#owned.pass('release.after-act')
  }
}
