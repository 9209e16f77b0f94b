/** The commands of owners, and of replicas that look for operations to own. Every write is identified by (op, token). */
import type { Clock } from '../base/clock.ts'
import { Fenced } from '../base/errors.ts'
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { type Note, noteGraceMs } from './notes.ts'
import {
  encodeEvents,
  encodeFields,
  type LabRecord,
  type NewEvent,
  pairs,
  parseRecord,
  type RecordFields,
} from './records.ts'
import type { SealingKeys } from './sealing.ts'

/** Identifies a writer: its operation, and the lease's value. */
export interface Ownership {
  readonly user: string
  readonly op: number
  readonly token: string
}

export interface Claim {
  readonly record: LabRecord
  /** Time until the operation's deadline, by Redis' clock; negative when it has passed. */
  readonly remainingMs: number
  /** Redis' clock at the claim. */
  readonly nowMs: number
  /** The last op found by the latest compare of Redis' data: records up to it may be old. */
  readonly foundOp: number
}

export interface Look {
  /** Redis' clock */
  readonly nowMs: number
  /** True if `owned` has all; otherwise it has only those whose lease has ended by Redis' clock. */
  readonly all: boolean
  /** Users whose operation has no owner, oldest op first. */
  readonly waiting: readonly { readonly user: string; readonly op: number }[]
  /** Users whose operation is owned. `beat` rises with each extension, and is the lease's end by Redis' clock. */
  readonly owned: readonly { readonly user: string; readonly beat: number }[]
  /** Users whose operation is past its deadline. */
  readonly overdue: readonly string[]
}

export type Outcome = 'running' | 'failed' | 'gone'

/** The end of an operation for the audit log. `by`: the operation's origin; '' without an audit log. */
export type EndNote = Pick<Note, 'kind' | 'result' | 'by'>

type LookAnswer = [now: string, held: string, waiting: string[], owned: string[], overdue: string[]]

export interface OwnerStoreOptions {
  readonly connection: Connection
  readonly keys: Keys
  readonly clock: Clock
  readonly sealing: SealingKeys
  readonly tombstoneMs: number
  /** How long operations are held that a compare found. */
  readonly holdMs: number
  /** Called when Redis answers that its data must be compared first. */
  readonly onComparing?: () => void
}

export class OwnerStore {
  readonly #connection: Connection
  readonly #keys: Keys
  readonly #tombstoneMs: number
  readonly #holdMs: number
  readonly #clock: Clock
  readonly #sealing: SealingKeys
  #opens: boolean | undefined
  #hold = { op: '0', sinceMs: 0 }
  #passedHold = ''
  readonly #onComparing: OwnerStoreOptions['onComparing']

  constructor({ connection, keys, clock, sealing, tombstoneMs, holdMs, onComparing }: OwnerStoreOptions) {
    this.#connection = connection
    this.#keys = keys
    this.#clock = clock
    this.#sealing = sealing
    this.#tombstoneMs = tombstoneMs
    this.#holdMs = holdMs
    this.#onComparing = onComparing
  }

  /** True if this replica can open newly sealed plans, by the last look; undefined before the first. */
  get opens(): boolean | undefined {
    return this.#opens
  }

  /** Lists operations to own; null while comparing, or without the key. `all`: with every owned one, to watch the beats. */
  async look(limit: number, all: boolean): Promise<Look | null> {
    const k = this.#keys
    const { ids, keepMs, idleMs } = this.#sealing
    const keys = [k.generation, k.waiting, k.owned, k.deadlines, k.hold, k.sealing]
    const args = (identity: string) => [identity, limit, all ? '1' : '0', this.#passedHold, ids, keepMs, idleMs]
    const answer = (await this.#connection.run('look-operations', keys, args)) as LookAnswer | ['comparing' | 'sealed']
    if (answer[0] === 'comparing') return this.#comparing()
    this.#opens = answer[0] !== 'sealed'
    if (!this.#opens) return null
    const [now, held, waiting, owned, overdue] = answer as LookAnswer
    this.#watchHold(held)
    const scored = (flat: string[]) =>
      Array.from({ length: flat.length / 2 }, (_, i) => ({ user: flat[2 * i]!, score: Number(flat[2 * i + 1]) }))
    return {
      nowMs: Number(now),
      all,
      waiting: scored(waiting).map(({ user, score }) => ({ user, op: score })),
      owned: scored(owned).map(({ user, score }) => ({ user, beat: score })),
      overdue,
    }
  }

  /** Makes the holder of the lease the owner; null when there is nothing to own, or not yet. */
  async claim(user: string, token: string, ttlMs: number): Promise<Claim | null> {
    const k = this.#keys
    const [answer, remaining, found, ...flat] = (await this.#connection.run(
      'claim-operation',
      [k.generation, k.record(user), k.waiting, k.owned, k.deadlines, k.lease(user), k.hold, k.sealing],
      identity => [identity, user, token, ttlMs, this.#passedHold, this.#sealing.ids],
    )) as string[]
    if (answer === 'comparing') return this.#comparing()
    const record = answer === 'claimed' ? parseRecord(flat, user) : null
    const remainingMs = Number(remaining)
    const nowMs = Number(pairs(flat).get('deadline') ?? 0) - remainingMs
    return record && { record, remainingMs, nowMs, foundOp: Number(found) }
  }

  /** Extends leases in one call. @returns for each, true if it is still held */
  async extend(held: readonly Ownership[], ttlMs: number): Promise<boolean[]> {
    const keys = held.flatMap(({ user }) => [this.#keys.lease(user), this.#keys.record(user)])
    const args = held.flatMap(({ user, token, op }) => [user, token, op])
    const answer = await this.#connection.run('extend-leases', [this.#keys.owned, ...keys], [ttlMs, ...args])
    return (answer as number[]).map(extended => extended === 1)
  }

  /** Frees a lease whose beat did not change. @returns false if it has changed, or another has won the lease */
  async free(user: string, beat: number, ttlMs: number): Promise<boolean> {
    const keys = [this.#keys.owned, this.#keys.lease(user), this.#keys.record(user)]
    return (await this.#connection.run('free-lease', keys, [user, beat, ttlMs])) === 1
  }

  /**
   * Records the result of a step. `seq` is that of the last event before these.
   * @throws {Fenced} when no longer the owner
   */
  async commit(by: Ownership, seq: number, events: readonly NewEvent[], fields: RecordFields): Promise<void> {
    const k = this.#keys
    await this.#fenced(
      'commit-step',
      [k.record(by.user), k.events(by.user), k.bell],
      [by.user, by.op, by.token, seq, encodeEvents(events), encodeFields(fields)],
    )
  }

  /**
   * Ends the operation and releases the lease.
   * @param note for the audit log; default: none
   * @throws {Fenced} when no longer the owner
   */
  async finish(
    by: Ownership,
    seq: number,
    events: readonly NewEvent[],
    outcome: Outcome,
    fields: RecordFields,
    note: EndNote = { kind: 'create', result: 'failed', by: '' },
  ): Promise<void> {
    const k = this.#keys
    const { user, op, token } = by
    const { kind, result, by: askedBy } = note
    await this.#fenced(
      'finish-operation',
      [
        k.record(user),
        k.events(user),
        k.waiting,
        k.owned,
        k.deadlines,
        k.lease(user),
        k.tombstone(user),
        k.bell,
        k.index,
        k.provisioned,
        k.audit,
      ],
      [user, op, token, seq, encodeEvents(events), outcome, encodeFields(fields), this.#tombstoneMs].concat([
        ...[kind, result, askedBy, noteGraceMs],
      ]),
    )
  }

  /** Releases a lease whose claim failed, or may have failed. */
  async giveBack(user: string, token: string): Promise<void> {
    await this.#release(user, '', token)
  }

  /** Releases the operation before its end. The next owner continues where this one stopped. */
  async release(by: Ownership): Promise<void> {
    await this.#release(by.user, by.op, by.token)
  }

  async #release(user: string, op: number | '', token: string): Promise<void> {
    const k = this.#keys
    const keys = [k.record(user), k.waiting, k.owned, k.lease(user), k.bell]
    await this.#connection.run('release-lease', keys, [user, op, token])
  }

  async #fenced(name: string, keys: readonly string[], args: readonly (string | number)[]): Promise<void> {
    if ((await this.#connection.run(name, keys, args)) !== 1) throw new Fenced(`${name}: the operation has moved on`)
  }

  /** A hold expires by Redis' clock. In case that steps back, the hold also ends after its time by our clock. */
  #watchHold(held: string): void {
    const now = this.#clock.monotonicMs()
    if (this.#hold.op !== held) this.#hold = { op: held, sinceMs: now }
    this.#passedHold = held !== '0' && now - this.#hold.sinceMs >= this.#holdMs ? held : ''
  }

  #comparing(): null {
    this.#onComparing?.()
    return null
  }
}
