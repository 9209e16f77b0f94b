/**
 * The commands of owners, and of replicas that look for operations to own, for subjects of one kind. Every write is identified
 * by (op, token).
 */
import type { Clock } from '../base/clock.ts'
import { Fenced } from '../base/errors.ts'
import { type Claim, EpochAhead, epochAhead, Unreadable } from './claims.ts'
import type { Connection } from './connection.ts'
import type { Family } from './family.ts'
import { pairs } from './fields.ts'
import type { Keys } from './keys.ts'
import { type Look, type LookAnswer, readLook } from './look.ts'
import { type Note, noteGraceMs } from './notes.ts'
import {
  encodeEvents,
  encodeFields,
  type NewEvent,
  type OperationFields,
  type OperationRecord,
  type RecordForm,
} from './records.ts'
import type { SealingKeys } from './sealing.ts'

/** Identifies a writer: its operation, and the lease's value. */
export interface Ownership {
  /** The subject's name. */
  readonly name: string
  readonly op: number
  readonly token: string
}

export type Outcome = 'running' | 'failed' | 'gone'

/** The end of an operation for the audit log. `by`: the operation's origin; '' without an audit log. */
export type EndNote = Pick<Note, 'kind' | 'result' | 'by'>

export interface OwnerStoreOptions<R extends OperationRecord, F extends OperationFields> {
  readonly connection: Connection
  readonly keys: Keys
  readonly family: Family
  readonly form: RecordForm<R, F>
  /** Whether each claim draws an epoch. Default: false. */
  readonly drawsEpochs?: boolean
  readonly clock: Clock
  readonly sealing: SealingKeys
  readonly tombstoneMs: number
  /** How long operations are held that a compare found. */
  readonly holdMs: number
  /** Called when Redis answers that its data must be compared first. */
  readonly onComparing?: () => void
}

export class OwnerStore<R extends OperationRecord = OperationRecord, F extends OperationFields = OperationFields> {
  readonly #connection: Connection
  readonly #keys: Keys
  readonly #family: Family
  readonly #form: RecordForm<R, F>
  readonly #drawsEpochs: boolean
  readonly #tombstoneMs: number
  readonly #holdMs: number
  readonly #clock: Clock
  readonly #sealing: SealingKeys
  #opens: boolean | undefined
  #hold = { op: '0', sinceMs: 0 }
  #passedHold = ''
  readonly #onComparing: OwnerStoreOptions<R, F>['onComparing']

  constructor(options: OwnerStoreOptions<R, F>) {
    this.#connection = options.connection
    this.#keys = options.keys
    this.#family = options.family
    this.#form = options.form
    this.#drawsEpochs = options.drawsEpochs ?? false
    this.#clock = options.clock
    this.#sealing = options.sealing
    this.#tombstoneMs = options.tombstoneMs
    this.#holdMs = options.holdMs
    this.#onComparing = options.onComparing
  }

  /** True if this replica can open newly sealed plans, by the last look; undefined before the first. */
  get opens(): boolean | undefined {
    return this.#opens
  }

  /** Lists operations to own; null while comparing, or without the key. `all`: with every owned one, to watch the beats. */
  async look(limit: number, all: boolean): Promise<Look | null> {
    const k = this.#keys
    const f = this.#family
    const { ids, keepMs, idleMs } = this.#sealing
    const keys = [f.generation, f.waiting, f.owned, f.deadlines, f.hold, k.sealing]
    const args = (identity: string) => [identity, limit, all ? '1' : '0', this.#passedHold, ids, keepMs, idleMs]
    const answer = (await this.#connection.run('look-operations', keys, args)) as LookAnswer | ['comparing' | 'sealed']
    if (answer[0] === 'comparing') return this.#comparing()
    this.#opens = answer[0] !== 'sealed'
    if (!this.#opens) return null
    const found = answer as LookAnswer
    this.#watchHold(found[1])
    return readLook(found, all)
  }

  /**
   * Makes the holder of the lease the owner; null when there is nothing to own, or not yet.
   * @throws {EpochAhead} when nothing was claimed, since no epoch can be drawn
   * @throws {Unreadable} when it was claimed, and the record cannot be read
   */
  async claim(name: string, token: string, ttlMs: number): Promise<Claim<R> | null> {
    const f = this.#family
    const sets = [f.waiting, f.owned, f.deadlines]
    const keys = [f.generation, f.record(name), ...sets, f.lease(name), f.hold, this.#keys.sealing, f.lastEpoch]
    const { ids } = this.#sealing
    const draws = this.#drawsEpochs ? '1' : ''
    const args = (identity: string) => [identity, name, token, ttlMs, this.#passedHold, ids, draws]
    const answers = (await this.#connection.run('claim-operation', keys, args)) as string[]
    const [answer, remaining, found, ...flat] = answers
    if (answer === 'comparing') return this.#comparing()
    if (answer === 'ahead') throw new EpochAhead(epochAhead)
    if (answer !== 'claimed') return null
    const fields = pairs(flat)
    const remainingMs = Number(remaining)
    const nowMs = Number(fields.get('deadline') ?? 0) - remainingMs
    const epoch = this.#drawsEpochs ? { epoch: Number(fields.get('epoch')) } : {}
    return { record: this.#parse(fields, name), remainingMs, nowMs, foundOp: Number(found), ...epoch }
  }

  /** Extends leases in one call. @returns for each, true if it is still held */
  async extend(held: readonly Ownership[], ttlMs: number): Promise<boolean[]> {
    const f = this.#family
    const keys = held.flatMap(({ name }) => [f.lease(name), f.record(name)])
    const args = held.flatMap(({ name, token, op }) => [name, token, op])
    const answer = await this.#connection.run('extend-leases', [f.owned, ...keys], [ttlMs, ...args])
    return (answer as number[]).map(extended => extended === 1)
  }

  /** Frees a lease whose beat did not change. @returns false if it has changed, or another has won the lease */
  async free(name: string, beat: number, ttlMs: number): Promise<boolean> {
    const f = this.#family
    const keys = [f.owned, f.lease(name), f.record(name)]
    return (await this.#connection.run('free-lease', keys, [name, beat, ttlMs])) === 1
  }

  /**
   * Records the result of a step. `seq` is that of the last event before these.
   * @throws {Fenced} when no longer the owner
   */
  async commit(by: Ownership, seq: number, events: readonly NewEvent[], fields: F | OperationFields): Promise<void> {
    const f = this.#family
    await this.#fenced(
      'commit-step',
      [f.record(by.name), f.events(by.name), this.#keys.bell],
      [f.kind, by.name, by.op, by.token, seq, encodeEvents(events), this.#encode(fields)],
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
    fields: F | OperationFields,
    note: EndNote = { kind: 'create', result: 'failed', by: '' },
  ): Promise<void> {
    const k = this.#keys
    const f = this.#family
    const { name, op, token } = by
    const { kind, result, by: askedBy } = note
    const sets = [f.waiting, f.owned, f.deadlines]
    const keys = [f.record(name), f.events(name), ...sets, f.lease(name), f.tombstone(name), k.bell, f.index]
    const writer = [f.kind, name, op, token]
    const written = [seq, encodeEvents(events), outcome, this.#encode(fields), this.#tombstoneMs]
    const noted = [kind, result, askedBy, noteGraceMs]
    await this.#fenced('finish-operation', [...keys, k.provisioned, k.audit], [...writer, ...written, ...noted])
  }

  /** Releases a lease whose claim failed, or may have failed. */
  async giveBack(name: string, token: string): Promise<void> {
    await this.#release(name, '', token)
  }

  /** Releases the operation before its end. The next owner continues where this one stopped. */
  async release(by: Ownership): Promise<void> {
    await this.#release(by.name, by.op, by.token)
  }

  async #release(name: string, op: number | '', token: string): Promise<void> {
    const f = this.#family
    const keys = [f.record(name), f.waiting, f.owned, f.lease(name), this.#keys.bell]
    await this.#connection.run('release-lease', keys, [f.kind, name, op, token])
  }

  #parse(fields: ReadonlyMap<string, string>, name: string): R {
    try {
      return this.#form.parse(fields, name)
    } catch (cause) {
      throw new Unreadable(`the record of ${this.#family.kind}:${name} cannot be read`, { cause })
    }
  }

  #encode(fields: OperationFields): string {
    return encodeFields(fields, this.#form.names)
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
