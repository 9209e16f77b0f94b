/** Claims operations whose lease was taken, and decides what follows a claim that fails. */
import type { Clock } from '../base/clock.ts'
import { logUnexpected } from '../base/log.ts'
import type { Leases } from '../leases/leases.ts'
import { type Claim, EpochAhead, Unreadable } from '../store/claims.ts'
import type { OwnerStore } from '../store/owners.ts'
import type { OperationFields, OperationRecord } from '../store/records.ts'
import type { Logger } from '../telemetry/log.ts'
import { Rarely } from '../telemetry/rarely.ts'

export interface ClaimingOptions<R extends OperationRecord, F extends OperationFields> {
  /** The name of the kind. */
  readonly kind: string
  readonly owners: Pick<OwnerStore<R, F>, 'claim'>
  readonly leases: Pick<Leases, 'giveBack'>
  readonly clock: Clock
  readonly log: Logger
  readonly ttlMs: number
}

const aheadWords = {
  trouble: 'operations cannot be claimed, since no epoch can be drawn',
  over: 'epochs can be drawn again',
}

export class Claiming<R extends OperationRecord, F extends OperationFields> {
  readonly #options: ClaimingOptions<R, F>
  readonly #ahead: Rarely

  constructor(options: ClaimingOptions<R, F>) {
    const { kind, clock, log } = options
    this.#options = options
    this.#ahead = new Rarely({ clock, log, ...aheadWords, fields: { subjectKind: kind } })
  }

  /** @returns null if the operation cannot be claimed now. The lease is then given back, or left to expire */
  async claim(name: string, token: string): Promise<Claim<R> | null> {
    const { owners, leases, ttlMs, log } = this.#options
    try {
      const claim = await owners.claim(name, token, ttlMs)
      if (claim) {
        this.#ahead.worked()
        return claim
      }
    } catch (error) {
      if (error instanceof EpochAhead) this.#ahead.failed(error.message)
      logUnexpected(log, error, 'an operation cannot be claimed')
      // Given back, this claim would be rung to all replicas, which would fail in the same way at once. So it expires.
      if (error instanceof Unreadable) return null
    }
    await leases.giveBack(name, token)
    return null
  }
}
