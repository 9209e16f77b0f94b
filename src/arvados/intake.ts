/**
 * Takes containers of Arvados into our queue: those that wait are locked there first, and those that our token has locked
 * already, by a replica that died or before Redis lost its data, are found again, adopted, or given back.
 */
import type { Clock } from '../base/clock.ts'
import type { ContainerView } from '../dispatch/container.ts'
import { cancelled, chosenOf, type Mirrored, mostOfWords } from '../dispatch/mirrored.ts'
import type { ContainerStore, NewContainer } from '../store/dispatch/containers.ts'
import type { MirrorReading, MirrorStore } from '../store/dispatch/mirror.ts'
import type { Logger } from '../telemetry/log.ts'
import { type ArvadosRecord, type Listed, recordOf } from './answers.ts'
import type { ArvadosClient } from './client.ts'
import type { Knowledge } from './knowledge.ts'

/** The container to write, or a sentence that says why it cannot be run here. */
export type Translated = Pick<NewContainer, 'view' | 'shape' | 'priority' | 'sealSpec'> | { readonly why: string }

export interface IntakeOptions {
  readonly store: Pick<MirrorStore, 'mirror' | 'settle'>
  readonly containers: Pick<ContainerStore, 'list'>
  readonly client: Pick<ArvadosClient, 'get' | 'act' | 'update'>
  readonly knowledge: Knowledge
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Logger
  readonly translate: (record: ArvadosRecord) => Translated
  /** Owner of all that is mirrored. */
  readonly owner: string
  /** How many wait here, beside those of a higher priority. */
  readonly mostWaiting: number
  /** A container that cannot be run here is cancelled with its reason, or left to other dispatchers. */
  readonly unsupported: 'cancel' | 'leave'
  /** How long a lock of our token may last that nobody here knows of. */
  readonly staleLockMs: number
  readonly failpoint: (place: string) => void | Promise<void>
  /** Called once a container is in our queue. */
  readonly onMirrored: (uuid: string) => void
}

/** How changes of Arvados are made: `false` and `undefined` for what is not known to be done. */
export interface Calls {
  /** @throws {RetryLater} unless the token holds the lease, before anything is changed */
  attempt(token: string, theirs: string, change: () => Promise<Listed>): Promise<boolean>
  tried<T>(call: () => Promise<T>): Promise<T | undefined>
  /** No call is to be made now. */
  paused(): boolean
}

/** Those that are left to others: how many are remembered. */
const mostLeft = 10_000
/** Between two tries of one adoption. */
const leastRestMs = 1_000
const none = 'No machine runs it: its run was lost'

export class Intake {
  readonly #options: IntakeOptions
  readonly #left = new Set<string>()
  /** Locked by our token, and not known here: since when. */
  readonly #strangers = new Map<string, number>()

  constructor(options: IntakeOptions) {
    this.#options = options
  }

  clear(): void {
    this.#left.clear()
    this.#strangers.clear()
  }

  /** When a stranger may be adopted next. */
  dueInMs(): number {
    const { clock, staleLockMs } = this.#options
    const nowMs = clock.monotonicMs()
    return Math.min(
      Number.POSITIVE_INFINITY,
      ...[...this.#strangers.values()].map(ms => Math.max(0, ms + staleLockMs - nowMs)),
    )
  }

  /** @returns how many changed, so that there may be more to do */
  async round(token: string, { mirrored, unasked }: MirrorReading, calls: Calls, signal: AbortSignal): Promise<number> {
    // A machine that was not asked may run any of them.
    if (unasked > 0) return 0
    const known = new Set(mirrored.map(({ theirs }) => theirs))
    const others = this.#options.knowledge.all.filter(({ uuid }) => !known.has(uuid))
    let done = 0
    const most = 2 * this.#options.mostWaiting - mirrored.filter(({ ours }) => ours?.waits).length
    for (const theirs of await this.#overdue(
      token,
      others.filter(({ mine }) => mine),
    )) {
      if (calls.paused()) return done
      const isDone = await this.#adopt(token, theirs, done < most, calls, signal)
      if (!isDone) this.#putOff(theirs.uuid)
      done += Number(isDone)
    }
    for (const theirs of this.#candidates(others, mirrored)) {
      if (calls.paused()) return done
      signal.throwIfAborted()
      done += Number(await this.#take(token, theirs, calls, signal))
    }
    return done
  }

  /** A container that failed now is not tried in each round: its time begins anew. */
  #putOff(uuid: string): void {
    const { clock, staleLockMs } = this.#options
    this.#strangers.set(uuid, clock.monotonicMs() + Math.max(0, leastRestMs - staleLockMs))
  }

  #candidates(others: readonly Listed[], mirrored: readonly Mirrored[]): Listed[] {
    const waiting = others.filter(({ uuid, mine, state, priority }) => {
      return state === 'Queued' && priority > 0 && !mine && !this.#left.has(uuid)
    })
    waiting.sort((a, b) => b.rank - a.rank)
    return chosenOf(waiting, mirrored, this.#options.mostWaiting)
  }

  /** Locks that have lasted for too long. Records of ours may name some of them: Redis has lost its table of them. */
  async #overdue(token: string, strangers: readonly Listed[]): Promise<Listed[]> {
    const { clock, staleLockMs } = this.#options
    const nowMs = clock.monotonicMs()
    const present = new Set(strangers.map(({ uuid }) => uuid))
    for (const uuid of this.#strangers.keys()) if (!present.has(uuid)) this.#strangers.delete(uuid)
    const overdue = strangers.filter(({ uuid }) => nowMs >= (this.#strangers.get(uuid) ?? nowMs + 1) + staleLockMs)
    const fresh = [...present].filter(uuid => !this.#strangers.has(uuid))
    // A machine that was found meanwhile may have brought the record of one that had none when it was first seen.
    const wanted = new Set([...fresh, ...overdue.map(({ uuid }) => uuid)])
    const found = wanted.size > 0 ? await this.#find(token, wanted) : wanted
    for (const uuid of fresh) if (!found.has(uuid)) this.#strangers.set(uuid, nowMs)
    return overdue.filter(({ uuid }) => !found.has(uuid))
  }

  /**
   * A record counts that has not ended, or that has begun: Arvados begins a container once. One that ended before its beginning
   * may have been given back long ago.
   * @returns those of which there is one
   */
  async #find(token: string, wanted: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const { containers, owner, store } = this.#options
    const found = new Set<string>()
    let after: string | undefined
    do {
      const page = await containers.list({ owner, limit: 100, ...(after !== undefined && { after }) })
      for (const { view, state, startedMs } of page.containers) {
        const theirs = view.arvados_uuid
        const counts = startedMs > 0 || (state !== 'Complete' && state !== 'Cancelled')
        if (!theirs || !counts || !wanted.has(theirs)) continue
        found.add(theirs)
        await store.settle(token, theirs, view.uuid, 'found')
      }
      after = page.next
    } while (after !== undefined)
    return found
  }

  /** @param hasRoom whether one more may wait here: what Arvados says is locked is no reason to fill the queue of all */
  async #adopt(
    token: string,
    { uuid, state, priority }: Listed,
    hasRoom: boolean,
    calls: Calls,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, log } = this.#options
    log.info({ theirs: uuid, state }, 'a container is locked by our token, and nobody here knows of it')
    if (state === 'Running') return calls.attempt(token, uuid, () => this.#tell(uuid, none, signal))
    if (priority === 0) return calls.attempt(token, uuid, () => client.act('unlock', uuid, signal))
    if (!hasRoom) return false
    const translated = await this.#translated(uuid, calls, signal)
    if (!translated) return false
    return 'why' in translated
      ? calls.attempt(token, uuid, () => this.#tell(uuid, translated.why, signal))
      : this.#mirror(token, uuid, translated)
  }

  async #take(token: string, { uuid }: Listed, calls: Calls, signal: AbortSignal): Promise<boolean> {
    const { client, unsupported, log, knowledge, failpoint } = this.#options
    const translated = await this.#translated(uuid, calls, signal)
    if (!translated) return false
    if ('why' in translated)
      log.info({ theirs: uuid, why: translated.why, unsupported }, 'a container cannot be run here')
    if ('why' in translated && unsupported === 'leave') {
      if (this.#left.size >= mostLeft) this.#left.clear()
      this.#left.add(uuid)
      return false
    }
    // The first dispatcher to lock it has it.
    if (!(await calls.attempt(token, uuid, () => client.act('lock', uuid, signal)))) return false
    const now = knowledge.of(uuid)
    if (now?.state !== 'Locked' || !now.mine) return false
    await failpoint('arvados.locked')
    if ('why' in translated) return calls.attempt(token, uuid, () => this.#tell(uuid, translated.why, signal))
    return this.#mirror(token, uuid, translated)
  }

  /** Why it has no container there any more is seen in Arvados. */
  #tell(uuid: string, why: string, signal: AbortSignal): Promise<Listed> {
    return this.#options.client.update(uuid, cancelled(why), signal)
  }

  /** @returns undefined without an answer */
  async #translated(uuid: string, calls: Calls, signal: AbortSignal): Promise<Translated | undefined> {
    const { client, translate } = this.#options
    const value = await calls.tried(() => client.get(uuid, signal))
    if (value === undefined) return undefined
    const record = recordOf(value)
    if ('problem' in record) return inBrief({ why: `Skylab cannot run it: ${record.problem}` })
    return record.uuid === uuid ? inBrief(translate(record)) : undefined
  }

  /** A container that could not be written now is a stranger of the next round. */
  async #mirror(token: string, theirs: string, container: Exclude<Translated, { why: string }>): Promise<boolean> {
    const { store, log, onMirrored, failpoint } = this.#options
    const view: Omit<ContainerView, 'uuid'> = { ...container.view, arvados_uuid: theirs }
    const answer = await store.mirror(token, theirs, { ...container, view })
    await failpoint('arvados.mirrored')
    if ('uuid' in answer) {
      if (answer.answer === 'mirrored') onMirrored(answer.uuid)
      return true
    }
    log.warn({ theirs, answer: answer.answer }, 'a container of Arvados cannot be written yet')
    return false
  }
}

const inBrief = (translated: Translated): Translated =>
  'why' in translated ? { why: translated.why.slice(0, mostOfWords) } : translated
