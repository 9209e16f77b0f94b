/** The commands of those who ask for containers, and look at them. */
import { createHash, randomUUID } from 'node:crypto'
import { unavailable } from '../../base/errors.ts'
import { sealedName } from '../../base/subject.ts'
import type { Connection, Entry as StreamEntry } from '../connection.ts'
import { containerKind } from '../dispatch-keys.ts'
import { pairs, valueIn } from '../fields.ts'
import type { Keys } from '../keys.ts'
import { counterAhead } from '../operations.ts'
import type { SealingKeys } from '../sealing.ts'
import type { StoredEvent } from '../series.ts'
import type { EventStream } from '../streams.ts'
import type {
  ContainerAccepted,
  ContainerChange,
  ContainerChanged,
  ContainerCounts,
  ContainerPage,
  ContainerQuery,
  LogPiece,
  LogRead,
  NewContainer,
} from './container-words.ts'
import { type ContainerShown, encodeShape, groupOf, parseContainer, wellFormed } from './forms.ts'

export type * from './container-words.ts'

export interface ContainerStoreOptions {
  readonly connection: Pick<Connection, 'run' | 'read'>
  readonly keys: Keys
  readonly sealing: SealingKeys
  /** The first part of uuids. */
  readonly clusterId: string
  readonly idempotencyMs: number
  /** The most bytes of the records of all containers that wait or run; those of one owner may have an eighth. */
  readonly activeBytes: number
  /** Called when Redis answers that its data must be compared first. */
  readonly onComparing?: () => void
  /** Why the cloud cannot be read for the compare, in words for clients; undefined if it can be. */
  readonly whyComparing?: () => string | undefined
}

/** How long the nonce of an acceptance is remembered, for commands that the connection sends again. */
const nonceMs = 60_000
/** A rotation names a key once, so two tries are enough. */
const sealingTries = 3
/** Containers that wait: the scheduler reads them all. */
const [mostOfOwner, mostOfAll] = [1_000, 100_000]
/** So many owners fill what all may have, and none does alone. */
const shares = 8
const pageLimit = 100
/** Looked at for one page, and bytes of it. */
const [mostScanned, mostBytes] = [1_000, 2 ** 20]
const logBytes = 64 * 1024

type Answer = [string, ...unknown[]]

/** When no op can be drawn, and when a machine that was not asked may run what is not known. */
const unsure = 'a container that is not known may run on a machine that was not asked yet'

export class ContainerStore {
  readonly #options: ContainerStoreOptions
  readonly #keys: Keys

  constructor(options: ContainerStoreOptions) {
    this.#options = options
    this.#keys = options.keys
  }

  /** Writes a container that waits. @throws {ApiError} 503 while comparing */
  async accept(container: NewContainer): Promise<ContainerAccepted> {
    for (let tries = 0; tries < sealingTries; tries += 1) {
      const answer = await this.#tryAccept(container)
      if (answer) return answer
    }
    throw unavailable('the key that plans are sealed with keeps changing')
  }

  /** @returns null if another key is named meanwhile */
  async #tryAccept({
    nonce,
    view,
    shape,
    priority,
    sealSpec,
    idempotency,
  }: NewContainer): Promise<ContainerAccepted | null> {
    const k = this.#keys
    const { containers } = k.dispatch
    const { activeBytes, sealing } = this.#options
    const { ids, keepMs } = sealing
    const [drawn, first, keyId] = await this.#ask('draw-ops', [k.last, k.sealing], [1, ids])
    if (drawn === 'sealed') return { answer: 'sealed' }
    const uuid = uuidOf(this.#options.clusterId, Number(first))
    const { owner } = view
    const shapeText = encodeShape(shape)
    const [answer, detail, by] = await this.#ask(
      'accept-container',
      [containers.nonce(nonce), this.#idempotencyKey(owner, idempotency?.key, nonce), k.sealing],
      [
        ...[uuid, String(first), owner, nonceMs],
        ...[idempotency?.bodyHash ?? '', this.#options.idempotencyMs],
        ...[String(keyId), ids, keepMs, mostOfOwner, mostOfAll],
        ...[Math.floor(activeBytes / shares), activeBytes],
        wellFormed({ uuid, ...view }),
        sealSpec(String(keyId), sealedName({ kind: containerKind, name: uuid }), uuid),
        ...[groupOf(shapeText), shapeText, priority, view.container_count_max],
      ],
    )
    switch (answer) {
      case 'reseal':
        return null
      case 'full':
        return { answer, of: detail as 'owner' | 'all', by: by as 'number' | 'bytes' }
      case 'accepted':
      case 'repeated':
        return { answer, uuid: String(detail) }
      default:
        return { answer: answer as 'mismatch' | 'sealed' }
    }
  }

  /**
   * Changes a container that has not ended. A waiting one is cancelled at once; one that a machine has is killed first.
   * Priority 0 stops a container that a machine was asked to run, and only keeps a waiting one from being scheduled.
   * @param owner if only a container of this owner is meant
   * @returns `none`: there is no such container (of this owner); `often`: it has so many events that its owner may only
   * make its priority 0
   * @throws {ApiError} 503 while comparing, or until machines were asked that may run it
   */
  async change(uuid: string, owner: string | undefined, change: ContainerChange): Promise<ContainerChanged> {
    const what =
      'cancel' in change
        ? ['cancel', change.cancel.toWellFormed() || 'it was cancelled']
        : ['priority', change.priority]
    const nonce = this.#keys.dispatch.containers.nonce(randomUUID())
    const [answer] = await this.#ask('change-container', [nonce], [uuid, owner ?? '', ...what, nonceMs])
    return this.#sure(answer) as ContainerChanged
  }

  /** @throws {ApiError} 503 while comparing, or for an unknown uuid until all machines were asked what they run */
  async find(uuid: string, owner?: string): Promise<(ContainerShown & { readonly status: string }) | null> {
    const [answer, flat, status] = await this.#ask('read-container', [], [uuid, owner ?? ''])
    if (this.#sure(answer) === 'none') return null
    return { ...parseContainer(pairs(flat as string[])), status: (status as string | null) ?? '' }
  }

  /** Costs what is asked for: containers of this state, or of this owner if those are fewer. */
  async list({ owner, state, after, limit }: ContainerQuery): Promise<ContainerPage> {
    const args = [owner ?? '', state ?? '', after ?? '', Math.min(limit, pageLimit), mostScanned, mostBytes]
    const [, last, flat] = await this.#ask('list-containers', [], args)
    const containers = (flat as unknown[]).flatMap(part => (Array.isArray(part) ? [parseContainer(pairs(part))] : []))
    return { containers, next: (last as string) || undefined }
  }

  /**
   * The events of a container, in one series, which ends with it. Event `state` has `{state, at, instance?, reason?}` as JSON,
   * `priority` `{priority, was}`, `cancelling` `{reason}`.
   */
  stream(uuid: string): EventStream<StoredEvent> {
    const { containers } = this.#keys.dispatch
    return {
      subject: { kind: containerKind, name: uuid },
      read: async (series, afterSeq, limit) => {
        const keys = [containers.record(uuid), containers.events(uuid)]
        const [answer, op, ended, newest, found] = await this.#ask('read-events', keys, [
          series ?? '',
          afterSeq,
          limit ?? '',
        ])
        if (answer === 'none') {
          // Throws if a machine that was not asked may run it.
          await this.find(uuid)
          return { found: false }
        }
        const events = (found as StreamEntry[]).map(readEvent)
        const lastSeq = Number(events.at(-1)?.id.split('-')[1] ?? newest)
        const more = lastSeq < Number(newest)
        return { found: true, series: Number(op), ended: ended === 1 && !more, lastSeq, events, ...(more && { more }) }
      },
    }
  }

  /** Output of a container after a place, about 64 KiB at once; null if there is no such container. */
  async log(uuid: string, after: number): Promise<LogRead | null> {
    const { logHead, logTail } = this.#keys.dispatch
    const keys = [logHead.call(this.#keys.dispatch, uuid), logTail.call(this.#keys.dispatch, uuid)]
    const [answer, bytes, ended, more, entries, dropped] = await this.#ask('read-log', keys, [uuid, after, logBytes])
    if (this.#sure(answer) === 'none') return null
    const pieces = (entries as StreamEntry[]).map(readPiece)
    const last = pieces.at(-1)
    const next = last ? last.at + last.bytes.length : Number(bytes)
    return { pieces, next, more: more === 1, ended: ended === 1 && more !== 1, dropped: dropped === 1 }
  }

  /** For gauges; undefined while the data are not compared. */
  async counts(): Promise<ContainerCounts | undefined> {
    const { generation } = this.#keys.dispatch
    const answer = (await this.#options.connection.run('count-containers', [generation], identity => [
      identity,
    ])) as Answer
    if (answer[0] !== 'counted') return undefined
    const [waiting, sent, groups, machines, unasked, ended, keptBytes, activeBytes] = answer.slice(1).map(Number)
    return {
      ...{ waiting: waiting!, sent: sent!, groups: groups!, machines: machines!, unasked: unasked! },
      ...{ ended: ended!, keptBytes: keptBytes!, activeBytes: activeBytes! },
    }
  }

  #idempotencyKey(owner: string, key: string | undefined, nonce: string): string {
    const { containers } = this.#keys.dispatch
    if (key === undefined) return containers.nonce(nonce)
    return containers.idempotency(owner, createHash('sha256').update(key).digest('hex').slice(0, 32))
  }

  #sure(answer: string): string {
    if (answer === 'unsure') throw unavailable(unsure, 5)
    return answer
  }

  /** Calls a command that answers only if the data were compared. */
  async #ask(name: string, keys: readonly string[], args: readonly (string | number)[]): Promise<Answer> {
    const all = [this.#keys.dispatch.generation, ...keys]
    const answer = (await this.#options.connection.run(name, all, identity => [identity, ...args])) as Answer
    if (answer[0] === 'ahead') throw unavailable(counterAhead, 5)
    if (answer[0] !== 'comparing') return answer
    this.#options.onComparing?.()
    const why = this.#options.whyComparing?.()
    throw unavailable(`the records are being compared with the cloud${why ? `, but ${why}` : ''}`)
  }
}

/** @param op drawn for it: uuids of an installation sort by age */
export const uuidOf = (clusterId: string, op: number): string =>
  `${clusterId}-dz642-${op.toString(36).padStart(15, '0')}`

function readEvent([id, flat]: StreamEntry): StoredEvent {
  return { id, event: valueIn(flat, 'event') ?? '', data: valueIn(flat, 'data') ?? '' }
}

/** Ids begin with 1. */
function readPiece([id, flat]: StreamEntry): LogPiece {
  const stream = valueIn(flat, 'stream') === 'stderr' ? 'stderr' : 'stdout'
  return { at: Number(id.split('-')[0]) - 1, stream, bytes: Buffer.from(valueIn(flat, 'base64') ?? '', 'base64') }
}
