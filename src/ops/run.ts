/**
 * One operation in the hands of its owner, from the claim until it is ended, handed over or lost.
 *
 * What an error does to it. The first row that fits counts:
 *
 * | error | what happens | decided in |
 * |---|---|---|
 * | StartOver | the phase begins its list of steps anew | phase.ts |
 * | RetryLater | the step is tried again, until the deadline | phase.ts |
 * | KubeError | refused (403, 404): tried again for 10 s; then, or any other at once: as NeedsSomeone | phase.ts |
 * | DeadlinePassed | as NeedsSomeone; what a failed creation leaves is removed later, as debris | course.ts |
 * | NeedsSomeone | the operation ends `failed`, in words; a creation only where no lab stands, and cleaned up | course.ts |
 * | HandOver | the lease is given back, so that another replica goes on at once | here |
 * | LeaseLost | counted as lost; nothing more is written | here |
 * | Fenced | counted as fenced; nothing more is written: the operation is another's | here |
 * | any other | logged as a defect; the lease runs out by itself, so that the next owner does not meet it at once | here |
 *
 * A RetryLater of Redis repeats the write for as long as the lease lasts (journal.ts).
 */
import { notNeeded } from '../base/clock.ts'
import { Fenced } from '../base/errors.ts'
import { LeaseLost } from '../leases/leases.ts'
import { runCourse } from './course.ts'
import type { Owned } from './owned.ts'

/** Why a run stops although nothing is wrong: another replica is to go on. */
class HandOver extends Error {
  override readonly name = 'HandOver'
}

export class OperationRun {
  readonly #owned: Owned

  constructor(owned: Owned) {
    this.#owned = owned
  }

  /** Ends when the operation has ended, or is no longer this replica's. Never rejects. */
  async run(): Promise<void> {
    const { options, names, gone, lease, phases, turn } = this.#owned
    const off = options.view.onChange(({ namespace, goneUid }) => {
      if (goneUid && (namespace === names.namespace || namespace === '')) gone.add(goneUid)
    })
    const lost = () => phases.stop(lease.signal.reason)
    lease.signal.addEventListener('abort', lost, { once: true })
    try {
      await this.#owned.pass('owned')
      lease.check()
      await this.#recall()
      await runCourse(this.#owned)
    } catch (error) {
      if (this.#isForeseen(error)) await this.#letGo()
    } finally {
      lease.signal.removeEventListener('abort', lost)
      off()
      turn.end()
    }
  }

  /** Stops where it is, so that another replica goes on. */
  handOver(): void {
    this.#owned.phases.stop(new HandOver('handed over'))
  }

  /** A new owner reads what was told, so that nothing is told twice. */
  async #recall(): Promise<void> {
    const { claim, span, options, log, journal } = this.#owned
    const { record } = claim
    if (record.claims <= 1) return span.child('wait for an owner', { startMs: record.acceptedAtMs }).end()
    options.metrics.operationsResumed.inc({ kind: record.kind })
    log.info({ step: record.step, attempts: record.attempts }, 'operation resumed')
    await journal.recall()
  }

  /** Logs why the run stops before the end of its operation, by the last rows of the table. */
  #isForeseen(error: unknown): boolean {
    const { log, options } = this.#owned
    if (error instanceof HandOver) {
      log.info('operation handed over')
      return true
    }
    if (error instanceof Fenced) {
      // Told here and not where leases are extended: an extension that crosses the end of an operation finds nothing to
      // extend, and nothing was lost; a lease that its owner found overdue would be forgotten before the next extension.
      options.metrics.leases.inc({ outcome: error instanceof LeaseLost ? 'lost' : 'fenced' })
      log.info({ reason: error.message }, 'operation is no longer ours')
      return true
    }
    log.error({ err: error }, 'operation let go after an unexpected error')
    return false
  }

  /** Gives the lease back, once no write of ours can still land. */
  async #letGo(): Promise<void> {
    const { options, agent, lease } = this.#owned
    const { clock, longestRequestMs, kube, owners } = options
    const done = new AbortController()
    const late = clock.sleep(longestRequestMs, done.signal).catch(() => {})
    await Promise.race([kube.settled(agent), late])
    done.abort(notNeeded)
    await this.#owned.pass('release.before-act')
    await owners.release(lease).catch(() => {})
    await this.#owned.pass('release.after-act')
  }
}
