/**
 * Leases of a turn. They spare work, so a turn hardly waits for them. A silence of Redis is remembered for all turns of a process,
 * so that a revocation does not wait then. Others wait in any case: without leases all replicas do the same, and where only the
 * machine is busy that makes it busier.
 */
import type { Clock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import type { TaskLease } from '../leases/leases.ts'

/** A lease; or another replica has it; or Redis does not answer. */
export type Held = TaskLease | 'refused' | 'silent'

/** Redis counts as silent after this time, for a turn that has no time, and while it is silent. */
const leaseMs = 250
/** And for all others. */
const patientMs = 1_000

export interface HoldOptions {
  /** Whether the turn has time: it takes nothing away. */
  readonly isPatient: boolean
  /** Ends the waiting, which says nothing of Redis. */
  readonly signal?: AbortSignal
  /** Gets an error that no Redis explains; the turn goes on as without Redis. */
  readonly onDefect: (error: unknown) => void
}

export class Holding {
  readonly #clock: Clock
  /** By the last answer, or by one that did not come in time. */
  #isSilent = false
  /** Questions that have no answer yet. The time-out of a command ends each. */
  readonly #open = new Set<Promise<unknown>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the last answer did not come in time. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  /** Redis has not answered something else in time. The next turn that asks for a lease finds out. */
  suspect(): void {
    this.#isSilent = true
  }

  /** @param acquire null when another has it. A lease that comes too late is given back. */
  async heldSoon(
    acquire: () => Promise<TaskLease | null>,
    { isPatient, signal, onDefect }: HoldOptions,
  ): Promise<Held> {
    const isSilent = this.#isSilent
    if (isSilent && !isPatient && this.#open.size > 0) return 'silent'
    const asked = this.#ask(acquire)
    const waitMs = isPatient && !isSilent ? patientMs : leaseMs
    const held = isSilent && !isPatient ? undefined : await this.#soon(asked, waitMs, signal)
    if (held) return held.value ?? 'refused'
    asked.then(
      lease => lease?.release(),
      error => {
        if (!(error instanceof RetryLater)) onDefect(error)
      },
    )
    return 'silent'
  }

  /** Gives a lease back. If Redis is silent, the lease lapses: neither the key nor its place waits for that. */
  async giveBack(held: Held | undefined): Promise<void> {
    if (typeof held !== 'object') return
    const released = held.release()
    if (this.#isSilent) released.catch(() => {})
    // It lapses.
    else if (!(await this.#soon(released, leaseMs))) this.#isSilent = true
  }

  #ask(acquire: () => Promise<TaskLease | null>): Promise<TaskLease | null> {
    const asked = acquire()
    this.#open.add(asked)
    const answered = (isSilent: boolean) => {
      this.#open.delete(asked)
      this.#isSilent = isSilent
    }
    asked.then(
      () => answered(false),
      error => answered(this.#isSilent || error instanceof RetryLater),
    )
    return asked
  }

  /** The result; undefined if it fails, or does not come in time. */
  async #soon<T>(promise: Promise<T>, ms: number, signal?: AbortSignal): Promise<{ readonly value: T } | undefined> {
    const deadline = new Deadline(this.#clock, ms, signal)
    try {
      return { value: await unlessAborted(promise, deadline.signal) }
    } catch {
      if (this.#open.has(promise) && !signal?.aborted) this.#isSilent = true
      return undefined
    } finally {
      deadline.release()
    }
  }
}
