/** The commands that accept operations on subjects of one kind, and that read their events. */
import { createHash } from 'node:crypto'
import type { LabEvent, LabStatus } from '../base/domain.ts'
import { unavailable } from '../base/errors.ts'
import { sealedName } from '../base/subject.ts'
import type { KindCensus } from '../telemetry/gauges.ts'
import {
  type Accepted,
  type Creation,
  type Deletion,
  type NotAccepted,
  readSuperseded,
  requireAcceptable,
} from './acceptance.ts'
import type { Connection, Entry } from './connection.ts'
import type { Family } from './family.ts'
import { pairs } from './fields.ts'
import type { Keys } from './keys.ts'
import { noteGraceMs } from './notes.ts'
import { encodeEvents, type OperationRecord, parseEvent } from './records.ts'
import type { SealingKeys } from './sealing.ts'
import type { EventStream, StreamRead } from './streams.ts'

/** Milliseconds; from the configuration. */
export interface Retention {
  readonly tombstoneMs: number
  readonly idempotencyMs: number
  /** Life of the stream of an ended operation beside a newer one. */
  readonly eventsMs: number
}

/** Life of the nonce of an acceptance, for commands that the connection sends again. */
const nonceMs = 60_000

/** A rotation names a key once, so two tries are enough. */
const sealingTries = 3

/** Events of an operation: `StreamRead`, with the op in place of the series. */
export type EventsRead =
  | { readonly found: false }
  | (Omit<Extract<StreamRead<LabEvent>, { found: true }>, 'series'> & { readonly op: number })

type Answer = [string, ...unknown[]]

/** The reason when no op can be drawn. */
export const counterAhead =
  'the last operation lies more than a day beyond Redis’ clock: the clock is wrong, or the counter was poisoned'

export interface OperationStoreOptions<R extends OperationRecord, C extends Creation> {
  readonly connection: Connection
  readonly keys: Keys
  readonly family: Family
  readonly form: { parse(fields: ReadonlyMap<string, string>, name: string): R }
  /** The fields of a new record that only this kind has, as names and values in turns. Default: none. */
  fieldsOf?(creation: C): readonly string[]
  readonly retention: Retention
  readonly sealing: SealingKeys
  /** Called when Redis answers that its data must be compared first. */
  readonly onComparing?: () => void
  /** Why the cluster cannot be read for the compare, in words for clients; undefined if it can be. */
  readonly whyComparing?: () => string | undefined
}

export class OperationStore<R extends OperationRecord = OperationRecord, C extends Creation = Creation> {
  readonly #connection: Connection
  readonly #keys: Keys
  readonly #family: Family
  readonly #form: OperationStoreOptions<R, C>['form']
  readonly #fieldsOf: OperationStoreOptions<R, C>['fieldsOf']
  readonly #retention: Retention
  readonly #sealing: SealingKeys
  /** The sealing key as last known; Redis answers with the right one if it has changed. */
  #sealingKey: string
  readonly #onComparing: (() => void) | undefined
  readonly #whyComparing: (() => string | undefined) | undefined

  constructor(options: OperationStoreOptions<R, C>) {
    this.#connection = options.connection
    this.#keys = options.keys
    this.#family = options.family
    this.#form = options.form
    this.#fieldsOf = options.fieldsOf
    this.#retention = options.retention
    this.#sealing = options.sealing
    this.#onComparing = options.onComparing
    this.#whyComparing = options.whyComparing
    this.#sealingKey = options.sealing.ids.split(' ')[0]!
  }

  /**
   * Writes a creation by one script. `mismatch`: the idempotency key was used with another body; `sealed`: the other
   * replicas seal with a key that is not ours, and could not open our plan.
   */
  async acceptCreate(creation: C): Promise<Accepted | NotAccepted> {
    requireAcceptable(this.#family.kind, creation)
    let [answer, detail] = await this.#tryCreate(creation)
    for (let tries = 1; answer === 'reseal' && tries < sealingTries; tries++) {
      this.#sealingKey = String(detail)
      ;[answer, detail] = await this.#tryCreate(creation)
    }
    if (answer === 'reseal') throw unavailable('the key that plans are sealed with keeps changing')
    if (answer === 'exists') return { answer, status: detail as LabStatus }
    if (answer === 'mismatch' || answer === 'sealed') return { answer }
    return { answer: 'accepted', op: Number(detail) }
  }

  #tryCreate(creation: C): Promise<Answer> {
    const { name, nonce, idempotency } = creation
    const k = this.#keys
    const f = this.#family
    const sealingKey = this.#sealingKey
    return this.ask(
      'accept-create',
      [
        k.last,
        f.record(name),
        f.events(name),
        f.waiting,
        f.deadlines,
        k.bell,
        f.index,
        f.tombstone(name),
        f.nonce(nonce),
        k.sealing,
        idempotency ? this.#idempotencyKey(name, idempotency.key) : f.nonce(nonce),
        k.audit,
      ],
      [
        f.kind,
        name,
        nonce,
        creation.timeoutMs,
        creation.sealPlan(sealingKey, sealedName({ kind: f.kind, name })),
        JSON.stringify(creation.view),
        encodeEvents(creation.events),
        idempotency?.bodyHash ?? '',
        this.#retention.idempotencyMs,
        nonceMs,
        this.#retention.eventsMs,
        this.#sealing.ids,
        this.#sealing.keepMs,
        sealingKey,
        creation.requestId ?? '',
        creation.traceparent ?? '',
        creation.by ?? '',
        noteGraceMs,
        ...(this.#fieldsOf?.(creation) ?? []),
      ],
    )
  }

  /** Whether a create with this key was accepted before: with this body, with another, or not at all. */
  async repeated(name: string, key: string, bodyHash: string): Promise<'same' | 'other' | 'new'> {
    const first = await this.#connection.read('get', redis => redis.get(this.#idempotencyKey(name, key)))
    if (first === null) return 'new'
    return first.split(' ')[1] === bodyHash ? 'same' : 'other'
  }

  /** Whether any create with this key was accepted before. */
  async remembers(name: string, key: string): Promise<boolean> {
    return (await this.#connection.read('get', redis => redis.get(this.#idempotencyKey(name, key)))) !== null
  }

  /** The one write that begins a deletion; null when there is no such subject, or not the one meant. */
  async acceptDelete(deletion: Deletion): Promise<Accepted | null> {
    requireAcceptable(this.#family.kind, deletion)
    const { name, nonce } = deletion
    const k = this.#keys
    const f = this.#family
    const [answer, op, ...superseded] = await this.ask(
      'accept-delete',
      [k.last, f.record(name), f.events(name), f.waiting, f.deadlines, k.bell, f.index, f.nonce(nonce), k.audit],
      [
        f.kind,
        name,
        deletion.timeoutMs,
        encodeEvents(deletion.events),
        encodeEvents(deletion.superseded),
        nonceMs,
        deletion.onlyIfOp ?? '',
        deletion.requestId ?? '',
        deletion.traceparent ?? '',
        deletion.by ?? '',
        noteGraceMs,
      ],
    )
    if (answer === 'none') return null
    const accepted = { answer: answer as Accepted['answer'], op: Number(op) }
    return superseded.length === 0 ? accepted : { ...accepted, superseded: readSuperseded(superseded) }
  }

  /** The record of a subject, with the events of its current operation; null if there is no such subject. */
  async find(name: string): Promise<{ record: R; events: LabEvent[] } | null> {
    const f = this.#family
    const [answer, flat, entries] = await this.ask('read-subject', [f.record(name), f.events(name)], [])
    if (answer !== 'found') return null
    const record = this.#form.parse(pairs(flat as string[]), name)
    return { record, events: (entries as Entry[]).map(parseEvent) }
  }

  /** Reads at most `limit` events of an operation after a place; without `op`, of the current or last operation. */
  async events(name: string, op: number | undefined, afterSeq: number, limit?: number): Promise<EventsRead> {
    const read = await this.#readEvents(name, op, afterSeq, limit)
    if (!read.found) return read
    const { series, ...rest } = read
    return { ...rest, op: series }
  }

  /** The stream of a subject, with one series for each operation. */
  stream(name: string): EventStream<LabEvent> {
    return {
      subject: { kind: this.#family.kind, name },
      read: (op, afterSeq, limit) => this.#readEvents(name, op, afterSeq, limit),
    }
  }

  async #readEvents(
    name: string,
    op: number | undefined,
    afterSeq: number,
    limit?: number,
  ): Promise<StreamRead<LabEvent>> {
    const f = this.#family
    const args = [op ?? '', afterSeq, limit ?? '']
    const answer = await this.ask('read-events', [f.record(name), f.events(name)], args)
    if (answer[0] === 'none') return { found: false }
    const [, series, ended, newest, found] = answer
    const events = (found as Entry[]).map(parseEvent)
    const lastSeq = Number(events.at(-1)?.id?.split('-')[1] ?? newest)
    const more = lastSeq < Number(newest)
    return { found: true, series: Number(series), ended: ended === 1 && !more, lastSeq, events, ...(more && { more }) }
  }

  /** Counts subjects and operations of this kind; undefined while the data are not compared. */
  async census(): Promise<KindCensus | undefined> {
    const f = this.#family
    const keys = [this.#family.generation, f.index, f.waiting, f.owned, f.deadlines]
    const [answer, ...counts] = (await this.#connection.run('count-subjects', keys, identity => [identity])) as Answer
    if (answer !== 'counted') return undefined
    const [pending, running, terminating, failed, waiting, owned, overdue, longestWaitMs] = counts.map(Number)
    const subjects = { pending: pending!, running: running!, terminating: terminating!, failed: failed! }
    return { subjects, waiting: waiting!, owned: owned!, overdue: overdue!, longestWaitSeconds: longestWaitMs! / 1000 }
  }

  /** Calls a command that answers only if the data were compared. */
  protected async ask(name: string, keys: readonly string[], args: readonly (string | number)[]): Promise<Answer> {
    const withIdentity = (identity: string) => [identity, ...args]
    const answer = (await this.#connection.run(name, [this.#family.generation, ...keys], withIdentity)) as Answer
    if (answer[0] === 'ahead') throw unavailable(counterAhead, 5)
    if (answer[0] !== 'comparing') return answer
    this.#onComparing?.()
    const why = this.#whyComparing?.()
    throw unavailable(`the records are being compared with the cluster${why ? `, but ${why}` : ''}`)
  }

  #idempotencyKey(name: string, key: string): string {
    return this.#family.idempotency(name, createHash('sha256').update(key).digest('hex').slice(0, 32))
  }
}
