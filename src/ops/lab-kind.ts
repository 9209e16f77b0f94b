/** Labs as a kind of subjects: their steps, their words, and the question before a creation fails. */
import type { Clock } from '../base/clock.ts'
import { labKind } from '../base/subject.ts'
import { credentialIn } from '../labs/credential.ts'
import { type LabNames, labNames } from '../labs/names.ts'
import { activityToken } from '../store/activity-token.ts'
import { sealCredential } from '../store/credential.ts'
import { labForm } from '../store/records.ts'
import type { Sealer } from '../store/sealing.ts'
import type { ClusterClient, ClusterView } from './cluster.ts'
import { createSteps } from './create.ts'
import { cleanSteps, cullSteps, deleteSteps } from './delete.ts'
import type { Claimed, Kind, Limits, StepList, Words, Work } from './kind.ts'
import type { LabContext, LabGraces, LabKnown, LabShape, LabStep } from './lab-context.ts'
import { refusalGraceMs } from './phase.ts'
import { podObstacles } from './removal.ts'
import type { StepContext } from './steps.ts'
import { boundAt, type Trust } from './trust.ts'
import { findWhole } from './whole.ts'

/** Milliseconds; from the configuration. */
export interface OperationTimes extends LabGraces {
  readonly spawnMs: number
  readonly deleteMs: number
}

export interface LabKindOptions {
  readonly kube: ClusterClient
  readonly view: ClusterView
  readonly clock: Clock
  readonly times: OperationTimes
  readonly maxAttempts: number
  /** The longest request to Kubernetes, in milliseconds. */
  readonly longestRequestMs: number
  readonly trust: Trust
  readonly namespacePrefix: string
  /** Requests a compare. */
  readonly compare: () => void
  /** Only of an installation that stops idle labs. */
  readonly idle?: LabIdle | undefined
}

export interface LabIdle {
  readonly sealer: Pick<Sealer, 'seal' | 'mac'>
  /** Variables of a lab's env: the first is the token that the lab's own API is asked with. */
  readonly credentialVariables: readonly string[]
}

const words: Words = {
  complete: user => `Operation complete for ${user}`,
  failed: (operation, user) => `Lab ${operation === 'create' ? 'creation' : 'deletion'} failed for ${user}`,
  refused: reason => `The cluster refused what the lab needs: ${reason}`,
  remains: reason => `What is left of the lab is removed as soon as the cluster permits it (${reason})`,
}

export const labs = (options: LabKindOptions): Kind<LabShape> => ({
  name: labKind,
  form: labForm,
  drawsEpochs: false,
  limits: limitsOf(options),
  words,
  ends: { create: 'running', delete: 'gone' },
  begin: claimed => new LabWork(options, claimed),
})

function limitsOf({ times: { spawnMs, deleteMs }, maxAttempts, longestRequestMs }: LabKindOptions): Limits {
  return { listMs: { create: spawnMs, delete: deleteMs, clean: deleteMs }, maxAttempts, longestRequestMs }
}

class LabWork implements Work<LabShape> {
  readonly known: LabKnown
  readonly #options: LabKindOptions
  readonly #claimed: Claimed<LabShape>
  readonly #names: LabNames
  readonly #gone = new Set<string>()
  #plan: LabShape['plan'] | undefined

  constructor(options: LabKindOptions, claimed: Claimed<LabShape>) {
    const { namespaceUid, podUid, miscounted } = claimed.claim.record
    this.#options = options
    this.#claimed = claimed
    this.#names = labNames(options.namespacePrefix, claimed.name)
    // A record from before the compare of Redis' data may be old: steps ask the cluster instead of using its UIDs.
    this.known = { namespaceUid, podUid, miscounted, doubt: claimed.recordMayBeOld }
  }

  watch(): () => void {
    return this.#options.view.onChangeOf(this.#names.namespace, ({ goneUid }) => {
      if (goneUid) this.#gone.add(goneUid)
    })
  }

  steps(list: StepList, plan: LabShape['plan'] | undefined): readonly LabStep[] {
    this.#plan ??= plan
    if (list === 'create') return createSteps(plan!)
    if (list === 'clean') return cleanSteps
    const { culledMs } = this.#claimed.claim.record
    return culledMs === undefined ? deleteSteps : cullSteps(culledMs)
  }

  context(common: StepContext<LabShape['plan'], LabKnown>, at: (name: string) => LabContext): LabContext {
    const { trust, kube, view, times, compare, idle } = this.#options
    return {
      ...common,
      user: common.name,
      trust,
      boundOp: () => this.#boundOp(),
      names: this.#names,
      kube,
      view,
      graces: times,
      gone: this.#gone,
      compare,
      at,
      ...(idle && { activityToken: activityToken(idle.sealer, common.name, common.op) }),
    }
  }

  async isComplete(): Promise<boolean> {
    const found = await this.#ask()
    if (found) Object.assign(this.known, found)
    return found !== null
  }

  obstacles(): readonly string[] {
    const { view } = this.#options
    const { namespace } = this.#names
    const pod = view.pods(namespace).find(({ uid }) => uid === this.known.podUid)
    return [...podObstacles(pod), ...(view.namespace(namespace)?.obstacles ?? [])]
  }

  completed(): LabShape['fields'] {
    const { namespaceUid, podUid } = this.known
    return { podPresent: true, namespaceUid: namespaceUid!, podUid: podUid!, ...this.#credential() }
  }

  /** Without it, it is read from the lab's own Secret where it is needed (`credential.ts`). */
  #credential(): LabShape['fields'] {
    const { idle } = this.#options
    const { name, op } = this.#claimed
    const text = idle && this.#plan && credentialIn(this.#plan.objects, this.#names.env, idle.credentialVariables)
    return text === undefined ? {} : { credential: sealCredential(idle!.sealer, name, op, text) }
  }

  cleaned(): LabShape['fields'] {
    return { podPresent: false }
  }

  settled(): Promise<void> {
    return this.#options.kube.settled(this.#claimed.agent)
  }

  /**
   * Finds out whether the lab is complete. Refusals end the question after a while, and silence at the deadline or a little
   * later. If Redis may have lost writes, only an answer ends it: a client may already know that the lab runs.
   * @throws {NeedsSomeone} when there was no answer in time
   */
  #ask(): ReturnType<typeof findWhole> {
    const { claim, op, recordMayBeOld, ownedMs, agent, log, span, phases } = this.#claimed
    const { kube, trust, times, clock } = this.#options
    const leastMs = Math.min(refusalGraceMs, times.deleteMs)
    const untilDeadlineMs = claim.remainingMs - ownedMs
    const [refusalMs, silenceMs] = recordMayBeOld
      ? [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      : [leastMs, Math.max(leastMs, Math.min(untilDeadlineMs, times.spawnMs))]
    const common = { kube, trust, clock, names: this.#names, op, recordMayBeOld, refusalMs }
    const onRefusal = this.#claimed.reportRefusal.bind(this.#claimed, 'fail')
    return phases.within(silenceMs, undefined, signal =>
      findWhole({ ...common, call: { signal, agent, log, span }, onRefusal }),
    )
  }

  /**
   * The highest trusted op: Redis' clock at the claim plus the monotonic time since then, so that steps of wall clocks do
   * not matter. Ops up to the operation's own are always trusted, since Redis issued them.
   */
  #boundOp(): number {
    const { claim, op, ownedMs } = this.#claimed
    return Math.max(op, boundAt(claim.nowMs + ownedMs))
  }
}
