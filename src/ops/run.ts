/** One operation in the hands of its owner, from the claim until it is ended, handed over or lost. */
import { type Clock, notNeeded } from '../base/clock.ts'
import type { LabPlan } from '../base/domain.ts'
import { Fenced, NeedsSomeone } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import { type KubeError, remedyOf } from '../kube/client.ts'
import { type LabNames, labNames } from '../labs/names.ts'
import { type Lease, LeaseLost } from '../leases/leases.ts'
import type { LabStore } from '../store/labs.ts'
import type { Claim, EndNote, Outcome, OwnerStore } from '../store/owners.ts'
import type { NewEvent, RecordFields } from '../store/records.ts'
import type { Sealer } from '../store/sealing.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Rarely } from '../telemetry/rarely.ts'
import { originFields, type Span, type Tracing } from '../telemetry/tracing.ts'
import { type Auditor, byUnknown } from './audit.ts'
import type { ClusterClient, ClusterView } from './cluster.ts'
import { createSteps } from './create.ts'
import { cleanSteps, deleteSteps } from './delete.ts'
import { Journal } from './journal.ts'
import { DeadlinePassed, isByRefusal, type PhaseHost, Phases, refusalGraceMs, runPhase } from './phase.ts'
import { podObstacles } from './removal.ts'
import type { Room } from './room.ts'
import type { Graces, Known, Step, StepContext, StepResult } from './steps.ts'
import { boundAt, type Trust } from './trust.ts'
import { Turn } from './turn.ts'
import { findWhole } from './whole.ts'

/** Milliseconds; from the configuration. */
export interface OperationTimes extends Graces {
  readonly spawnMs: number
  readonly deleteMs: number
}

export interface RunOptions {
  readonly owners: OwnerStore
  readonly labs: LabStore
  readonly sealer: Sealer
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly clock: Clock
  readonly times: OperationTimes
  readonly trust: Trust
  readonly namespacePrefix: string
  readonly maxAttempts: number
  /** How long a write in flight may take to return before the lease is given up. */
  readonly longestRequestMs: number
  readonly room: Room
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly audit: Auditor
  readonly compare: () => void
}

const refusalWords = { trouble: 'a step is refused', over: 'a step that was refused is done' }

/** Why a run stops although nothing is wrong: another replica is to go on. */
class HandOver extends Error {
  override readonly name = 'HandOver'
}

export class OperationRun implements PhaseHost {
  readonly clock: Clock
  readonly #options: RunOptions
  readonly #claim: Claim
  readonly #lease: Lease
  readonly #journal: Journal
  readonly #turn: Turn
  readonly #phases: Phases
  readonly #names: LabNames
  readonly #known: Known
  readonly #agent: string
  readonly #log: Logger
  readonly #refusals: Rarely
  readonly #span: Span
  readonly #gone = new Set<string>()
  readonly #claimedMs: number
  #plan: LabPlan | undefined

  /** `places`: in the room, taken for it already. */
  constructor(options: RunOptions, claim: Claim, lease: Lease, places: number) {
    const { record } = claim
    this.#options = options
    this.clock = options.clock
    this.#claim = claim
    this.#lease = lease
    this.#names = labNames(options.namespacePrefix, lease.user)
    // A record that stood before Redis' data were compared may be an old one: the cluster is asked, not remembered.
    const doubt = record.op <= claim.foundOp
    this.#known = { namespaceUid: record.namespaceUid, podUid: record.podUid, doubt }
    this.#agent = `op=${record.op} claim=${record.claims}`
    const origin = originFields(record.requestId, record.traceparent)
    this.#log = options.log.child({ user: lease.user, op: record.op, kind: record.kind, ...origin })
    this.#refusals = new Rarely({ ...refusalWords, clock: options.clock, log: this.#log })
    this.#span = options.tracing.operation({ ...record, user: lease.user })
    this.#journal = new Journal(options, lease, record)
    this.#turn = new Turn(options.room, this.#journal, record, places)
    this.#phases = new Phases(options.clock)
    this.#claimedMs = options.clock.monotonicMs()
  }

  /** Ends when the operation has ended, or is no longer this replica's. Never rejects. */
  async run(): Promise<void> {
    const off = this.#options.view.onChange(({ namespace, goneUid }) => {
      if (goneUid && (namespace === this.#names.namespace || namespace === '')) this.#gone.add(goneUid)
    })
    const lost = () => this.#phases.stop(this.#lease.signal.reason)
    this.#lease.signal.addEventListener('abort', lost, { once: true })
    try {
      await this.#pass('owned')
      this.#lease.check()
      await this.#recall()
      await (this.#claim.record.kind === 'create' ? this.#create() : this.#delete())
    } catch (error) {
      // After what nobody expected the lease runs out by itself, lest the next owner meet it in the same instant.
      if (this.#explain(error)) await this.#letGo()
    } finally {
      this.#lease.signal.removeEventListener('abort', lost)
      off()
      this.#turn.end()
    }
  }

  /** Stops where it is, so that another replica goes on. */
  handOver(): void {
    this.#phases.stop(new HandOver('handed over'))
  }

  spanOf({ name }: Step): Span {
    const attributes = { 'skylab.op': this.#claim.record.op, 'skylab.claim': this.#claim.record.claims }
    return this.#span.child(name, { holdsChildren: true, attributes })
  }

  context(step: Step, signal: AbortSignal, span: Span): StepContext {
    const { kube, view, clock, times, trust, compare } = this.#options
    const { op } = this.#claim.record
    const pass: StepContext['failpoint'] = place => this.#pass(`${step.name}.${place}`)
    return {
      user: this.#lease.user,
      op,
      trust,
      boundOp: () => this.#boundOp(),
      names: this.#names,
      plan: this.#plan,
      known: this.#known,
      kube,
      view,
      clock,
      graces: times,
      signal,
      gone: this.#gone,
      call: () => {
        this.#lease.check()
        return { signal, agent: this.#agent, failpoint: pass, log: this.#log, span }
      },
      tell: events => this.#journal.tell(events),
      compare,
      failpoint: pass,
    }
  }

  /**
   * By Redis' clock at the claim and our monotonic one since: no wall clock that steps meanwhile counts. An op that is no
   * higher than the operation's own was given by Redis.
   */
  #boundOp(): number {
    const { record, nowMs } = this.#claim
    return Math.max(record.op, boundAt(nowMs + this.clock.monotonicMs() - this.#claimedMs))
  }

  makeRoom(kind: Step['kind'], signal: AbortSignal): Promise<void> {
    return this.#turn.take(kind, signal)
  }

  async commit(step: Step, result: Exclude<StepResult, 'nothing'>, next: Step | undefined): Promise<void> {
    const fields = { ...result.fields, step: next?.name ?? '', ...this.#turn.next(next) }
    await this.#journal.commit(result.events, step.progress, fields, () => this.#pass(`${step.name}.before-commit`))
    await this.#pass(`${step.name}.after-commit`)
  }

  onStep(step: Step, seconds: number, result: 'done' | 'failed' | 'aborted'): void {
    const { kind } = this.#claim.record
    if (result === 'done') this.#refusals.worked()
    this.#options.metrics.stepDuration.observe({ kind, step: step.name, result }, seconds)
    this.#log.debug({ step: step.name, seconds, result }, 'step')
  }

  /** The user is told at once, and whoever reads the log. */
  async onRefusal(step: string, error: KubeError): Promise<void> {
    const remedy = remedyOf(error)
    this.#refusals.failed(error.message, { step, ...(remedy !== undefined && { remedy }) })
    await this.#journal.tell([['info', `The cluster refuses this for now; it is tried again (${error.message})`]])
  }

  async #create(): Promise<void> {
    const { record, remainingMs } = this.#claim
    if (record.failing) return this.#clean(record.step, record.failing)
    try {
      this.#requireAttempts()
      this.#plan = this.#openPlan()
      const steps = createSteps(this.#plan)
      await this.#phases.within(remainingMs, this.#options.times.spawnMs, signal =>
        runPhase(this, steps, record.step, signal),
      )
    } catch (error) {
      if (!(error instanceof NeedsSomeone)) throw error
      return this.#fail(error.message)
    }
    await this.#complete()
  }

  async #delete(): Promise<void> {
    const { record, remainingMs } = this.#claim
    try {
      this.#requireAttempts()
      const { deleteMs } = this.#options.times
      await this.#phases.within(remainingMs, deleteMs, signal => runPhase(this, deleteSteps, record.step, signal))
    } catch (error) {
      if (!(error instanceof NeedsSomeone)) throw error
      const reason = this.#withObstacles(error)
      return this.#finishFailed(reason, [['error', reason]], isByRefusal(error) ? error : undefined)
    }
    await this.#finish(
      'gone',
      [
        ['progress', '100'],
        ['complete', `Operation complete for ${this.#lease.user}`],
      ],
      {},
    )
  }

  /** Before a creation is set to fail, for whatever reason, the cluster is asked: a lab that stands is no failure. */
  async #fail(reason: string): Promise<void> {
    // Who only asks takes no room: others act meanwhile.
    this.#turn.end()
    const standing = await this.#ask().catch(error => {
      if (error instanceof DeadlinePassed) return new NeedsSomeone(this.#refusals.reason ?? 'it does not answer')
      if (error instanceof NeedsSomeone) return error
      throw error
    })
    // Nobody was told that this lab is complete: what stands of it may be removed later, by whoever can.
    if (standing instanceof NeedsSomeone) return this.#finishFailed(reason, [['error', reason]], standing)
    if (standing) {
      Object.assign(this.#known, standing)
      return this.#complete()
    }
    const first = cleanSteps[0]!
    const fields = { failing: reason, step: first.name, ...this.#turn.next(first) }
    await this.#journal.write([['error', reason]], fields, () => this.#pass('fail.before-commit'))
    await this.#clean(first.name, reason)
  }

  /**
   * Whether the lab stands. A refusal counts as the answer after a while, and silence at the deadline, or a little later; but
   * not where Redis may have gone back: a client may have been told of the lab, so only an answer may lead to its end.
   * @throws {NeedsSomeone} nobody can tell
   */
  #ask(): ReturnType<typeof findWhole> {
    const { kube, trust, times } = this.#options
    const { op } = this.#claim.record
    const recordMayBeOld = op <= this.#claim.foundOp
    const leastMs = Math.min(refusalGraceMs, times.deleteMs)
    const untilDeadlineMs = this.#claim.remainingMs - (this.clock.monotonicMs() - this.#claimedMs)
    const [refusalMs, silenceMs] = recordMayBeOld
      ? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      : [leastMs, Math.max(leastMs, Math.min(untilDeadlineMs, times.spawnMs))]
    return this.#phases.within(silenceMs, 0, signal =>
      findWhole({
        ...{ kube, trust, clock: this.clock, names: this.#names, op, recordMayBeOld, refusalMs },
        call: this.#asking(signal),
        onRefusal: error => this.onRefusal('fail', error),
      }),
    )
  }

  /** Removes what a failed creation made; the record stays, and says whether that succeeded. */
  async #clean(first: string, reason: string): Promise<void> {
    const { deleteMs } = this.#options.times
    try {
      this.#requireAttempts()
      await this.#phases.within(deleteMs, deleteMs, signal => runPhase(this, cleanSteps, first, signal))
    } catch (error) {
      if (!(error instanceof NeedsSomeone)) throw error
      this.#log.warn({ reason: error.message }, 'a failed creation could not be cleaned up')
      // Acts that took their owner with them are not begun again by others.
      const isLater = isByRefusal(error) || error instanceof DeadlinePassed
      return this.#finishFailed(reason, [], isLater ? error : undefined)
    }
    await this.#finish('failed', [this.#failed()], { podPresent: false }, reason)
  }

  /** @param later why objects may remain, which others are to remove as soon as they can */
  async #finishFailed(reason: string, told: readonly NewEvent[], later: NeedsSomeone | undefined): Promise<void> {
    const words = `What is left of the lab is removed as soon as the cluster permits it (${later?.message})`
    const events: NewEvent[] = later ? [...told, ['info', words]] : [...told]
    await this.#finish('failed', [...events, this.#failed()], later ? { remains: this.#claim.record.op } : {}, reason)
  }

  /** Of requests that belong to no step. */
  #asking(signal: AbortSignal) {
    return { signal, agent: this.#agent, log: this.#log, span: this.#span }
  }

  #complete(): Promise<void> {
    const { namespaceUid, podUid } = this.#known
    const events: NewEvent[] = [
      ['progress', '100'],
      ['complete', `Operation complete for ${this.#lease.user}`],
    ]
    return this.#finish('running', events, { podPresent: true, namespaceUid: namespaceUid!, podUid: podUid! })
  }

  #failed(): NewEvent {
    const what = this.#claim.record.kind === 'create' ? 'creation' : 'deletion'
    return ['failed', `Lab ${what} failed for ${this.#lease.user}`]
  }

  async #finish(outcome: Outcome, events: readonly NewEvent[], fields: RecordFields, reason?: string): Promise<void> {
    const { kind, acceptedAtMs, op, by } = this.#claim.record
    const { audit } = this.#options
    await this.#pass('finish.before-act')
    const last = { ...fields, step: '', acting: false }
    const askedBy = by ?? byUnknown(audit, this.#lease.user)
    const note: EndNote = { kind, result: outcome === 'failed' ? 'failed' : 'succeeded', by: askedBy }
    await this.#journal.finish(outcome, events, last, note, () => this.#pass('finish.before-commit'))
    await this.#pass('finish.after-act')
    audit.operation(op, kind, note.result, askedBy)
    const result = outcome === 'failed' ? 'failed' : 'complete'
    const seconds = Math.max(0, this.clock.wallMs() - acceptedAtMs) / 1000
    this.#options.metrics.operationDuration.observe({ kind, result }, seconds)
    this.#log.info({ result, seconds, ...(reason !== undefined && { reason }) }, 'operation ended')
    this.#span.end({ attributes: { 'skylab.result': result }, ...(result === 'failed' && { error: 'failed' }) })
  }

  /** A place where a test may strike. */
  #pass(place: string): void | Promise<void> {
    return failpoint(`lab.${this.#claim.record.kind}.${place}`, this.#lease.user)
  }

  #openPlan(): LabPlan {
    const { sealedPlan, nonce } = this.#claim.record
    if (!sealedPlan) throw new NeedsSomeone('The plan of this creation is lost')
    return JSON.parse(this.#options.sealer.open(sealedPlan, this.#lease.user, nonce)) as LabPlan
  }

  /** Acts that did not return took their owner with them, as far as anyone can tell. */
  #requireAttempts(): void {
    if (this.#turn.attempts > this.#options.maxAttempts) {
      throw new NeedsSomeone(`It was given up after ${this.#options.maxAttempts} attempts that did not return`)
    }
  }

  /** The reason, with what the cluster says stands in the way. */
  #withObstacles(error: Error): string {
    const { view } = this.#options
    const { namespace } = this.#names
    const pod = view.pods(namespace).find(({ uid }) => uid === this.#known.podUid)
    return [error.message, ...podObstacles(pod), ...(view.namespace(namespace)?.obstacles ?? [])].join('; ')
  }

  /** Who resumes reads what was told, so that nothing is told twice. */
  async #recall(): Promise<void> {
    const { record } = this.#claim
    if (record.claims <= 1) return this.#span.child('wait for an owner', { startMs: record.acceptedAtMs }).end()
    this.#options.metrics.operationsResumed.inc({ kind: record.kind })
    this.#log.info({ step: record.step, attempts: record.attempts }, 'operation resumed')
    await this.#journal.recall()
  }

  /** @returns whether it was foreseen */
  #explain(error: unknown): boolean {
    if (error instanceof HandOver) this.#log.info('operation handed over')
    else if (error instanceof Fenced) {
      // Told here and not where leases are extended: an extension that crosses the end of an operation finds nothing to
      // extend, and nothing was lost; a lease that its owner found overdue would be forgotten before the next extension.
      this.#options.metrics.leases.inc({ outcome: error instanceof LeaseLost ? 'lost' : 'fenced' })
      this.#log.info({ reason: error.message }, 'operation is no longer ours')
    } else {
      this.#log.error({ err: error }, 'operation let go after an unexpected error')
      return false
    }
    return true
  }

  /** Gives the lease back, once no write of ours can still land. */
  async #letGo(): Promise<void> {
    const done = new AbortController()
    const late = this.clock.sleep(this.#options.longestRequestMs, done.signal).catch(() => {})
    await Promise.race([this.#options.kube.settled(this.#agent), late])
    done.abort(notNeeded)
    await this.#pass('release.before-act')
    await this.#options.owners.release(this.#lease).catch(() => {})
    await this.#pass('release.after-act')
  }
}
