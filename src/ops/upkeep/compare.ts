/**
 * Compares the records with the cluster in both directions. One path serves the first start, an emptied Redis, a restart, a
 * failover with lost writes, and the slow interval: lists from the API server itself, then the records, then one
 * conditional script for each user. Until the last script has written the generation, absence in Redis proves nothing.
 */
import { randomUUID } from 'node:crypto'
import { backoffMs } from '../../base/backoff.ts'
import type { Clock } from '../../base/clock.ts'
import { Deadline } from '../../base/deadline.ts'
import { logUnexpected } from '../../base/log.ts'
import { jittered, Loop, type Rest } from '../../base/loop.ts'
import { Duty, type Take } from '../../duties/duty.ts'
import { inOperatorsWords, KubeError } from '../../kube/client.ts'
import { labels } from '../../kube/labels.ts'
import { projectNamespace } from '../../kube/pods/project.ts'
import type { Leases } from '../../leases/leases.ts'
import { type CompareStore, type Mark, NumberAhead } from '../../store/compares.ts'
import type { LabStore } from '../../store/labs.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import { type Auditor, byController } from '../audit.ts'
import type { ClusterClient } from '../cluster.ts'
import { boundAt, type Trust } from '../trust.ts'
import type { Debris } from './debris.ts'
import { counterDoubt, type Distrusted, doubtOf, type Listing, listedPod, readListing } from './listing.ts'
import type { Monitor } from './monitor.ts'
import { type Decision, decide } from './settle.ts'

export interface ComparerOptions {
  readonly store: CompareStore
  readonly labs: LabStore
  readonly leases: Pick<Leases, 'acquireTask'>
  readonly kube: ClusterClient
  readonly monitor: Monitor
  readonly debris: Debris
  readonly clock: Clock
  readonly log: Logger
  readonly audit: Auditor
  readonly metrics: Metrics
  readonly trust: Trust
  readonly installation: string
  readonly namespacePrefix: string
  readonly intervalMs: number
  /** How long former owners may still act on operations that were found: a lease's TTL plus the longest request. */
  readonly holdMs: number
  /** How long the next page of its lists may take. */
  readonly pageMs: number
  readonly deleteTimeoutMs: number
  readonly failedLabMs: number
  /** As for `judgeLife`. */
  readonly heedsStamp?: boolean
  readonly failpoint: (place: string) => void | Promise<void>
}

/** How often one compare reads a user again whose record changes meanwhile. */
const maxRounds = 20
/** Users settled concurrently. */
const breadth = 16
const retryMs = 250
/** The interval varies by this share, so that replicas do not compare in step. */
const intervalJitter = 0.1
/** Longer than `retryMs`, since a refusal does not pass soon. */
const refusalBackoff = { baseMs: 500, capMs: 5_000 }
/** How often a replica checks for doubts about Redis' clock. */
const doubtMs = 2_000
/** The pause before the next compare while there is a doubt. */
const compareAgainMs = 3_000
/** How long a doubt lasts unless a compare finds it again: its replica may have died. */
const keepDoubtMs = 15_000

interface Picture extends Pick<Listing, 'found' | 'highestOp'> {
  readonly mark: Mark
}

/** `doubted`: Redis' clock cannot be right, so nothing was settled. */
type Result = 'done' | 'restarted' | 'doubted'

export class Comparer {
  readonly #options: ComparerOptions
  readonly #duty: Duty
  readonly #doubts: Loop
  readonly #putOff: Rarely
  #wanted = true
  /** True at the start, since no replica may have watched the labs before. */
  #insisted = true
  /** Consecutive refusals of the API server. */
  #refusals = 0
  #doubt: string | undefined
  /** UIDs of distrusted objects that were logged. */
  #named: ReadonlySet<string> = new Set()

  constructor(options: ComparerOptions) {
    const { clock, leases, store, log } = options
    this.#options = options
    this.#putOff = new Rarely({ ...options, trouble: 'the compare is put off', over: 'the compare goes on' })
    this.#duty = new Duty({
      clock,
      leases,
      lease: store.lease,
      round: take => this.#round(take),
      // A round handles its own failures; the lease may still fail to be given back.
      failed: error => {
        logUnexpected(log, error, 'a compare failed unexpectedly')
        this.wake(true)
        return { ms: 0, deafMs: retryMs }
      },
    })
    const doubtRest = { ms: doubtMs }
    const round = async () => {
      await this.#lookForDoubt()
      return doubtRest
    }
    // While Redis does not answer, the last known doubt applies.
    const failed = (error: unknown) => {
      logUnexpected(log, error, 'the doubt of a compare cannot be read')
      return doubtRest
    }
    this.#doubts = new Loop({ clock, round, failed })
  }

  start(): void {
    this.#duty.start()
    this.#doubts.start()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#duty.stop(), this.#doubts.stop()])
  }

  /** Why nothing can be settled or accepted now, in words; undefined if nothing prevents it. */
  get doubt(): string | undefined {
    return this.#doubt
  }

  /**
   * Has a compare begin soon. `insist`: this replica saw a reason in the cluster, so it compares even if another replica
   * has already compared the data of this Redis.
   */
  wake(insist: boolean): void {
    this.#wanted = true
    this.#insisted ||= insist
    this.#duty.wake()
  }

  /** Reads the doubt from Redis, where the comparing replica writes it. */
  async #lookForDoubt(): Promise<void> {
    const { store, log } = this.#options
    const doubt = await store.readDoubt()
    const words = doubt?.kind === 'counter' ? counterDoubt(doubt.lastOp, doubt.nowMs) : doubt?.reason
    if (words !== undefined && this.#doubt === undefined) log.error({ reason: words }, 'nothing is settled')
    if (words === undefined && this.#doubt !== undefined) log.info({}, 'nothing speaks against the clock of Redis')
    if (words === undefined && this.#doubt !== undefined) this.wake(true)
    this.#doubt = words
  }

  async #round(take: Take): Promise<Rest> {
    const { clock, intervalMs } = this.#options
    // Requests from here on count for the next round.
    const [asked, insisted] = [this.#wanted, this.#insisted]
    this.#wanted = false
    this.#insisted = false
    const begunMs = clock.monotonicMs()
    let againMs = retryMs
    const done = await this.#compareIfNeeded(take, asked, insisted).catch(error => {
      this.#duty.signal.throwIfAborted()
      this.#putOff.failed(inOperatorsWords(error))
      this.#refusals = error instanceof KubeError ? this.#refusals + 1 : 0
      const refusalMs = this.#refusals && backoffMs(this.#refusals, refusalBackoff)
      // Other replicas go first, for as long as this one kept them waiting: perhaps only this one lacks the API server.
      againMs = Math.max(retryMs, clock.monotonicMs() - begunMs, refusalMs)
      return false
    })
    if (done === true) {
      this.#putOff.worked()
      this.#refusals = 0
      return { ms: jittered(intervalMs, intervalJitter) }
    }
    this.#wanted = true
    this.#insisted ||= insisted || done === 'doubted'
    // A doubt is not urgent, whichever replica found it. Its finder compares again before the doubt expires.
    return { ms: 0, deafMs: done === 'doubted' || this.#doubt !== undefined ? compareAgainMs : againMs }
  }

  /** @returns true if nothing is left to do, because this or another replica has compared */
  async #compareIfNeeded(take: Take, asked: boolean, insisted: boolean): Promise<boolean | 'doubted'> {
    const { metrics, clock, labs } = this.#options
    if (asked && !insisted && (await labs.compared())) return true
    // The holder of the lease compares. This replica tries again if the compare is still needed or was insisted on.
    if ((await take()) === null) return !insisted && (await labs.compared())
    const begunMs = clock.monotonicMs()
    let result: Result | 'failed' = 'failed'
    try {
      result = await this.#compare()
      if (result === 'done') metrics.compareLastSuccess.set(clock.wallMs() / 1000)
      return result === 'doubted' ? result : result === 'done'
    } finally {
      metrics.compareDuration.observe({ result }, (clock.monotonicMs() - begunMs) / 1000)
    }
  }

  async #compare(): Promise<Result> {
    const { store, holdMs, failpoint, log } = this.#options
    const mark = await store.begin(randomUUID(), holdMs)
    await failpoint('compare.begun')
    // The lists cannot change this verdict.
    if (mark.foundOp > boundAt(mark.nowMs)) return this.#leaveDoubt(mark, counterDoubt(mark.foundOp, mark.nowMs))
    const listing = await this.#listInTime(mark)
    await failpoint('compare.listed')
    this.#nameDistrusted(listing.distrusted)
    const doubt = doubtOf(mark, listing)
    if (doubt !== undefined) return this.#leaveDoubt(mark, doubt)
    const { found, highestOp } = listing
    const users = [...new Set([...(await store.users()), ...found.keys()])]
    const picture = { mark, highestOp, found }
    for (let i = 0; i < users.length; i += breadth) {
      const settled = await Promise.all(users.slice(i, i + breadth).map(user => this.#settle(user, picture)))
      const other = settled.find(result => result !== 'done')
      if (other === 'doubted')
        return this.#leaveDoubt(mark, 'skylab heal: a record bears a number beyond the clock of Redis')
      if (other) return other
    }
    await failpoint('compare.settled')
    const ended = await store.end(mark, highestOp)
    if (ended && mark.needed) log.info({ users: users.length, highestOp }, 'the records were compared with the cluster')
    return ended ? 'done' : 'restarted'
  }

  async #leaveDoubt(mark: Mark, doubt: string): Promise<Result> {
    await this.#options.store.doubt(mark, doubt, keepDoubtMs)
    return 'doubted'
  }

  /** Logs each object once, not in each compare. */
  #nameDistrusted(distrusted: readonly Distrusted[]): void {
    const { log, metrics } = this.#options
    for (const { why, named: _, mac: _mac, ...object } of distrusted) {
      if (!this.#named.has(object.uid)) log.warn(object, distrustWords[why])
    }
    this.#named = new Set(distrusted.map(({ uid }) => uid))
    for (const why of ['ahead', 'mac'] as const) {
      metrics.distrustedObjects.set({ reason: why }, distrusted.filter(each => each.why === why).length)
    }
  }

  /**
   * Gives up lists whose next page does not come, and the lease with them: another replica may reach the API server. Each
   * page has its time, since the number of pages grows with that of labs.
   */
  async #listInTime({ nowMs }: Mark): Promise<Listing> {
    const { clock, pageMs } = this.#options
    const deadline = new Deadline(clock, pageMs, this.#duty.signal)
    try {
      return await this.#list(deadline, nowMs)
    } finally {
      deadline.release()
    }
  }

  /** Lists our objects from the API server; distrusted ones are reported and otherwise left out. */
  async #list(deadline: Deadline, redisMs: number): Promise<Listing> {
    const { kube, installation } = this.#options
    const scope = {
      labelSelector: `${labels.installation}=${installation}`,
      signal: deadline.signal,
      onPage: () => deadline.restart(),
      agent: 'compare',
    }
    const namespaces = await kube.list('v1', 'Namespace', projectNamespace, scope)
    const pods = await kube.list('v1', 'Pod', listedPod, scope)
    return readListing(this.#options, { namespaces, pods }, redisMs)
  }

  /** `restarted`: the compare was overtaken. */
  async #settle(user: string, { mark, highestOp, found }: Picture): Promise<Result> {
    const { store, audit, deleteTimeoutMs, failedLabMs, heedsStamp } = this.#options
    for (let round = 0; round < maxRounds && !this.#duty.signal.aborted; round++) {
      const standing = await store.standing(user)
      const decision = decide(user, standing, found.get(user), mark.nowMs - failedLabMs, heedsStamp)
      if (decision.kind !== 'settle') {
        await this.#attend(user, decision, mark)
        return 'done'
      }
      const by = decision.settlement.outcome === 'delete' ? byController(audit, user, 'left_behind') : ''
      const settlement = { ...decision.settlement, user, standing, highestOp, by, timeoutMs: deleteTimeoutMs }
      const answer = await store.settle(mark, settlement)
      if (answer === 'ahead') return 'doubted'
      if (answer !== 'moved') return answer === 'settled' ? 'done' : 'restarted'
    }
    return 'restarted'
  }

  /** Carries out a decision that has its own conditions. */
  async #attend(user: string, decision: Exclude<Decision, { kind: 'settle' }>, mark: Mark): Promise<void> {
    const { monitor, debris } = this.#options
    if (decision.kind === 'judge') await this.#judged(user, monitor.judge(decision.pod, mark))
    if (decision.kind === 'confirm' && (await debris.isPodGone(user, decision.podUid))) {
      await this.#judged(user, monitor.judgeGone(user, decision.podUid, mark))
    }
    if (decision.kind === 'debris') await this.#aside(user, () => debris.remove(decision.namespace))
    if (decision.kind === 'expire') await this.#aside(user, () => this.#expire(user, decision.op))
  }

  /** One user's number that is ahead must not delay the others: `skylab heal` removes it. */
  async #judged(user: string, judgement: Promise<void>): Promise<void> {
    await judgement.catch(error => {
      if (!(error instanceof NumberAhead)) throw error
      this.#options.log.error({ user, reason: error.message }, 'a change of a lab cannot be recorded')
    })
  }

  /** Runs a clean-up. A failure for one user must not keep the records of all from being trusted. */
  async #aside(user: string, tidy: () => Promise<unknown>): Promise<void> {
    await tidy().catch(error => this.#options.log.warn({ user, reason: (error as Error).message }, 'tidying up failed'))
  }

  #expire(user: string, op: number): Promise<unknown> {
    const { labs, audit, deleteTimeoutMs } = this.#options
    const by = byController(audit, user, 'failed_long_ago')
    const events = [['info', 'A lab that failed long ago is removed']] as const
    const deletion = { name: user, nonce: randomUUID(), by, timeoutMs: deleteTimeoutMs, events, superseded: [] }
    return labs.acceptDelete({ ...deletion, onlyIfOp: op })
  }
}

const distrustWords: Readonly<Record<Distrusted['why'], string>> = {
  ahead: 'an object bears an op more than a day beyond the clock of Redis: it is not believed, and left untouched',
  mac: 'the record of a namespace was not written by this installation: it is not believed, and left untouched',
}
