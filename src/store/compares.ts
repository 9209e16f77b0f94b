/** The commands of compares, and of the monitor between operations. */
import { RetryLater } from '../base/errors.ts'
import type { Arg, Args, Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { counterAhead } from './operations.ts'
import {
  encodeEvents,
  encodeFields,
  type LabFields,
  type LabRecord,
  labForm,
  type NewEvent,
  parseRecord,
} from './records.ts'

export interface Mark {
  /** Identifies the compare in `settle` and `end`. */
  readonly value: string
  readonly identity: string
  /** True if the data of this Redis were not compared yet. */
  readonly needed: boolean
  /** The last op in Redis when the compare began. */
  readonly foundOp: number
  /** Redis' clock when the compare began. */
  readonly nowMs: number
}

/** A user's record and tombstone, with the fingerprint by which a settle detects changes. */
export interface Standing {
  readonly record: LabRecord | null
  readonly tombstone: number
  readonly fingerprint: string
  /** Redis' clock */
  readonly nowMs: number
}

export interface Settlement {
  readonly user: string
  readonly standing: Standing
  /** `running` and `failed` are restored under `op`; `delete` is a deletion under a new one. */
  readonly outcome: 'running' | 'failed' | 'delete'
  readonly op: number
  /** The highest op in the cluster. */
  readonly highestOp: number
  readonly fields: LabFields
  readonly events: readonly NewEvent[]
  /** Last events of an operation that this overrules. */
  readonly lost: readonly NewEvent[]
  readonly timeoutMs: number
  /** The origin of the deletion for the audit log. */
  readonly by?: string
}

export interface PodFinding {
  readonly user: string
  readonly podUid: string
  readonly outcome: 'failed' | 'ended' | 'restarted'
  /** The number of restarts; `gone` for a failed lab whose pod is gone. */
  readonly detail: string | number
  readonly events: readonly NewEvent[]
  readonly timeoutMs: number
  /** The origin of the deletion of an ended lab, for the audit log. */
  readonly by?: string
}

/** `ahead`: an op is more than a day beyond Redis' clock, and nothing was written. */
export type SettleAnswer = 'settled' | 'moved' | 'unmarked' | 'ahead'

/** No op can be drawn: the counter or the record of this user is more than a day beyond Redis' clock. */
export class NumberAhead extends RetryLater {}

/** The reason why nothing can be settled and no op drawn now. */
export type Doubt =
  /** The last issued op is more than a day beyond Redis' clock. */
  | { readonly kind: 'counter'; readonly lastOp: number; readonly nowMs: number }
  /** A compare's finding, in words. */
  | { readonly kind: 'compare'; readonly reason: string }

/** How long the mark of a compare lasts. A compare that takes longer begins again. */
export const markMs = 120_000

/** Arguments only for this Redis: data read from one must not be written to another. */
export const onlyIn =
  (identity: string, args: readonly Arg[]): Args =>
  sentTo => {
    if (sentTo !== identity) throw new RetryLater('Redis was replaced since the compare began')
    return args
  }

/** The keys of a compare: those of labs, or those of dispatch. */
export type CompareKeys = Pick<Keys, 'generation' | 'mark' | 'last' | 'hold' | 'bell' | 'doubt' | 'compareLease'>

/** The beginning and the end of a compare of any kind. */
export class Compares {
  readonly #connection: Connection
  readonly #keys: CompareKeys
  /** Key of the lease of comparing. */
  readonly lease: string

  constructor(connection: Connection, keys: CompareKeys) {
    this.#connection = connection
    this.#keys = keys
    this.lease = keys.compareLease
  }

  /** Writes the mark. `holdMs`: how long former owners may still act on operations that were found. */
  async begin(nonce: string, holdMs: number): Promise<Mark> {
    const k = this.#keys
    const identity = await this.#connection.refreshIdentity()
    const keys = [k.generation, k.mark, k.last, k.hold]
    const args = onlyIn(identity, [identity, nonce, markMs, holdMs])
    const [needed, found, now] = (await this.#connection.run('begin-compare', keys, args)) as [number, string, string]
    return {
      value: `${nonce} ${identity}`,
      identity,
      needed: needed === 1,
      foundOp: Number(found),
      nowMs: Number(now),
    }
  }

  /** Writes the generation: from here on Redis' data are trusted. @returns false if the mark is gone */
  async end(mark: Mark, highestOp: number): Promise<boolean> {
    const k = this.#keys
    const args = onlyIn(mark.identity, [mark.identity, mark.value, highestOp, mark.foundOp])
    return (await this.#connection.run('end-compare', [k.generation, k.mark, k.last, k.bell, k.doubt], args)) === 1
  }

  /** Ends a compare that must not settle anything; every replica reads the reason for `keepMs`. */
  async doubt(mark: Mark, reason: string, keepMs: number): Promise<void> {
    const args = onlyIn(mark.identity, [mark.value, reason, keepMs])
    await this.#connection.run('doubt-compare', [this.#keys.mark, this.#keys.doubt], args)
  }

  /** @returns null if there is no doubt */
  async readDoubt(): Promise<Doubt | null> {
    const answer = await this.#connection.run('read-doubt', [this.#keys.last, this.#keys.doubt], [])
    const [last, now, reason] = answer as [string, string, string]
    if (last !== '') return { kind: 'counter', lastOp: Number(last), nowMs: Number(now) }
    return reason === '' ? null : { kind: 'compare', reason }
  }
}

/** The compare of labs with the cluster. */
export class CompareStore extends Compares {
  readonly #connection: Connection
  readonly #keys: Keys

  constructor(connection: Connection, keys: Keys) {
    super(connection, keys)
    this.#connection = connection
    this.#keys = keys
  }

  /** All users with a record. */
  async users(): Promise<string[]> {
    return this.#connection.read('zrange', redis => redis.zrange(this.#keys.index, '0', '-1'))
  }

  async standing(user: string): Promise<Standing> {
    const keys = [this.#keys.record(user), this.#keys.tombstone(user)]
    const answer = await this.#connection.run('read-record', keys, [])
    const [flat, tombstone, now] = answer as [string[], string | null, string]
    const record = parseRecord(flat, user)
    const parts = record
      ? [record.op, record.status, record.active ? 1 : 0, record.token || '-', record.podUid ?? '-']
      : ['-', '-', '-', '-', '-']
    const fingerprint = [...parts, tombstone ?? '-'].join(' ')
    return { record, tombstone: Number(tombstone ?? 0), fingerprint, nowMs: Number(now) }
  }

  async settle(mark: Mark, settlement: Settlement): Promise<SettleAnswer> {
    const k = this.#keys
    const { user } = settlement
    const [answer] = (await this.#connection.run(
      'settle-lab',
      [
        k.mark,
        k.record(user),
        k.events(user),
        k.waiting,
        k.owned,
        k.deadlines,
        k.bell,
        k.index,
        k.last,
        k.tombstone(user),
        k.audit,
      ],
      onlyIn(mark.identity, [
        mark.value,
        user,
        settlement.standing.fingerprint,
        settlement.outcome,
        settlement.op,
        settlement.highestOp,
        encodeFields(settlement.fields, labForm.names),
        encodeEvents(settlement.events),
        encodeEvents(settlement.lost),
        settlement.timeoutMs,
        settlement.by ?? '',
      ]),
    )) as [SettleAnswer]
    return answer
  }

  /**
   * Records a finding on a pod. While the data are not compared, only the compare itself may do so.
   * @param mark of the compare whose finding this is
   * @returns true if it was written: the lab runs with this pod, and no operation runs
   * @throws {NumberAhead} when no op can be drawn for this user
   * @throws {RetryLater} when the data are not compared yet, or the compare was overtaken
   */
  async settlePod(finding: PodFinding, mark?: Mark): Promise<boolean> {
    const k = this.#keys
    const { user } = finding
    const [answer] = (await this.#connection.run(
      'settle-pod',
      [k.generation, k.mark, k.record(user), k.events(user), k.bell, k.index, k.last, k.waiting, k.deadlines, k.audit],
      identity => [
        identity,
        mark?.value ?? '',
        user,
        finding.podUid,
        finding.outcome,
        encodeEvents(finding.events),
        finding.detail,
        finding.timeoutMs,
        finding.by ?? '',
      ],
    )) as [string]
    if (answer === 'comparing') throw new RetryLater('the records are being compared with the cluster')
    if (answer === 'ahead') throw new NumberAhead(counterAhead)
    return answer === 'written'
  }
}
