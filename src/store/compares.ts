/** What a compare writes, and what a watch may write between operations. */
import { RetryLater } from '../base/errors.ts'
import type { Arg, Args, Connection } from './connection.ts'
import type { Keys } from './keys.ts'
import { counterAhead } from './labs.ts'
import { encodeEvents, encodeFields, type LabRecord, type NewEvent, parseRecord, type RecordFields } from './records.ts'

export interface Mark {
  /** What `settle` and `end` present. */
  readonly value: string
  readonly identity: string
  /** The data of this Redis were not compared yet. */
  readonly needed: boolean
  /** The last op found. */
  readonly foundOp: number
  /** Redis' clock when it began. */
  readonly nowMs: number
}

/** A user's record and tombstone as they were read, with what a settle compares them by. */
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
  readonly fields: RecordFields
  readonly events: readonly NewEvent[]
  /** For the stream of an operation that this overrules. */
  readonly lost: readonly NewEvent[]
  readonly timeoutMs: number
  /** Who begins the deletion, as the audit log tells it. */
  readonly by?: string
}

export interface PodWord {
  readonly user: string
  readonly podUid: string
  readonly outcome: 'failed' | 'ended' | 'restarted'
  /** How often it was restarted; `gone` with a failure whose pod is no more. */
  readonly detail: string | number
  readonly events: readonly NewEvent[]
  readonly timeoutMs: number
  /** Who begins the deletion of one that ended, as the audit log tells it. */
  readonly by?: string
}

/** `ahead`: an op lies more than a day beyond Redis' clock; nothing was written. */
export type SettleAnswer = 'settled' | 'moved' | 'unmarked' | 'ahead'

/** No op can be drawn: the counter, or the record of this user, is more than a day beyond Redis' clock. */
export class NumberAhead extends RetryLater {}

/** Why nothing can be settled, and no op drawn, at this moment. */
export type Doubt =
  /** The last op given out lies more than a day beyond Redis' clock. */
  | { readonly kind: 'counter'; readonly lastOp: number; readonly nowMs: number }
  /** What a compare found, in words. */
  | { readonly kind: 'compare'; readonly reason: string }

/** How long the mark of a compare stands: longer than any takes; one that takes longer begins again. */
export const markMs = 120_000

export class CompareStore {
  readonly #connection: Connection
  readonly #keys: Keys
  /** Key of the lease of comparing. */
  readonly lease: string

  constructor(connection: Connection, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
    this.lease = keys.compareLease
  }

  /** Leaves the mark. `holdMs`: how long former owners may still act on what was found. */
  async begin(nonce: string, holdMs: number): Promise<Mark> {
    const k = this.#keys
    const identity = await this.#connection.refreshIdentity()
    const keys = [k.generation, k.mark, k.last, k.hold]
    const args = this.#onlyIn(identity, [identity, nonce, markMs, holdMs])
    const [needed, found, now] = (await this.#connection.run('begin-compare', keys, args)) as [number, string, string]
    return {
      value: `${nonce} ${identity}`,
      identity,
      needed: needed === 1,
      foundOp: Number(found),
      nowMs: Number(now),
    }
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
      this.#onlyIn(mark.identity, [
        mark.value,
        user,
        settlement.standing.fingerprint,
        settlement.outcome,
        settlement.op,
        settlement.highestOp,
        encodeFields(settlement.fields),
        encodeEvents(settlement.events),
        encodeEvents(settlement.lost),
        settlement.timeoutMs,
        settlement.by ?? '',
      ]),
    )) as [SettleAnswer]
    return answer
  }

  /** Writes the generation: from here on what Redis holds is believed. @returns false when the mark is gone */
  async end(mark: Mark, highestOp: number): Promise<boolean> {
    const k = this.#keys
    const args = this.#onlyIn(mark.identity, [mark.identity, mark.value, highestOp, mark.foundOp])
    return (await this.#connection.run('end-compare', [k.generation, k.mark, k.last, k.bell, k.doubt], args)) === 1
  }

  /** Ends a compare that may settle nothing; every replica reads the reason for `keepMs`. */
  async doubt(mark: Mark, reason: string, keepMs: number): Promise<void> {
    const args = this.#onlyIn(mark.identity, [mark.value, reason, keepMs])
    await this.#connection.run('doubt-compare', [this.#keys.mark, this.#keys.doubt], args)
  }

  /** @returns null where nothing is in the way */
  async readDoubt(): Promise<Doubt | null> {
    const answer = await this.#connection.run('read-doubt', [this.#keys.last, this.#keys.doubt], [])
    const [last, now, reason] = answer as [string, string, string]
    if (last !== '') return { kind: 'counter', lastOp: Number(last), nowMs: Number(now) }
    return reason === '' ? null : { kind: 'compare', reason }
  }

  /**
   * What a watch saw of a pod; where the data are not compared yet only with the mark of the compare itself.
   * @returns whether it was written: a lab that runs, no operation, this very pod
   * @throws {NumberAhead} no op can be drawn for this user
   * @throws {RetryLater} the data are not compared yet
   */
  async tellPod(word: PodWord, mark?: Mark): Promise<boolean> {
    const k = this.#keys
    const { user } = word
    const [answer] = (await this.#connection.run(
      'settle-pod',
      [k.generation, k.mark, k.record(user), k.events(user), k.bell, k.index, k.last, k.waiting, k.deadlines, k.audit],
      identity => [
        identity,
        mark?.value ?? '',
        user,
        word.podUid,
        word.outcome,
        encodeEvents(word.events),
        word.detail,
        word.timeoutMs,
        word.by ?? '',
      ],
    )) as [string]
    if (answer === 'comparing') throw new RetryLater('the records are being compared with the cluster')
    if (answer === 'ahead') throw new NumberAhead(counterAhead)
    return answer === 'written'
  }

  /** Arguments for this Redis alone: what was read of one must not be written to another. */
  #onlyIn(identity: string, args: readonly Arg[]): Args {
    return sentTo => {
      if (sentTo !== identity) throw new RetryLater('Redis is another one than when the compare began')
      return args
    }
  }
}
