/**
 * Watches labs between operations, and records pods that fail, end or vanish. A change in a watch only starts a look. Each
 * record is written by one conditional script. If that refuses because an operation runs, the pod is judged again after
 * the ring for the operation's end.
 */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { Later } from '../../base/later.ts'
import { labKind } from '../../base/subject.ts'
import { inOperatorsWords, KubeError } from '../../kube/client.ts'
import type { LifeVerdict, PodFacts } from '../../kube/pods/facts.ts'
import { judgeLife } from '../../kube/pods/judge.ts'
import { labNames } from '../../labs/names.ts'
import type { Bell } from '../../store/bell.ts'
import type { CompareStore, Mark, PodFinding } from '../../store/compares.ts'
import type { NewEvent } from '../../store/records.ts'
import type { Ring } from '../../store/rings.ts'
import type { Logger } from '../../telemetry/log.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import { type Auditor, byController } from '../audit.ts'
import type { Change, ClusterView } from '../cluster.ts'
import type { Debris } from './debris.ts'
import { type Finding, Findings } from './findings.ts'
import { Heard, isExplained } from './heard.ts'

export interface MonitorOptions {
  readonly store: CompareStore
  readonly bell: Bell
  readonly view: ClusterView
  readonly debris: Debris
  readonly clock: Clock
  readonly log: Logger
  readonly audit: Auditor
  readonly namespacePrefix: string
  readonly deleteTimeoutMs: number
  readonly crashLoopGraceMs: number
  readonly unknownGraceMs: number
  /** As for `judgeLife`. */
  readonly heedsStamp?: boolean
}

/** Longest pauses between retries, when Redis or the API server is silent or refuses. A refusal does not pass soon. */
const againCapMs = { silence: 5_000, refusal: 30_000 }
/** From a change of a pod to its judgement; `Later` adds up to 100 ms. */
const stateMs = 500
/** How long watches may show the last objects of a deletion, or a pod before its namespace, before these are checked. */
const settleMs = 2_000
/** Grace before a new namespace is checked; if an operation runs then, the check follows its end. */
const lateWriteMs = 20_000

export class Monitor {
  readonly #options: MonitorOptions
  readonly #findings: Findings
  /** The last finding on each pod that was written or refused, so that it is not sent with every change of the pod. */
  readonly #reported = new Map<string, string>()
  /** UIDs of namespaces that were or will be checked. */
  readonly #seen = new Set<string>()
  /** Names of namespaces that the watches do not show although they show pods in them. */
  readonly #landed = new Set<string>()
  /** UIDs of pods that are gone but whose end could not be recorded, by user. */
  readonly #gone = new Map<string, Set<string>>()
  readonly #heard = new Heard()
  /** The changes of pods that will be judged, by UID. Their states are not read yet. */
  readonly #soon = new Map<string, Change[]>()
  readonly #later: Later
  #stopped = false
  readonly #refusals: Rarely
  #offs: (() => void)[] = []

  constructor(options: MonitorOptions) {
    this.#options = options
    this.#later = new Later(options.clock)
    this.#findings = new Findings({ ...options, onLasting: (pod, afterMs) => this.#judgeLater(pod, afterMs) })
    const words = { trouble: 'labs cannot be monitored', over: 'labs can be monitored again' }
    this.#refusals = new Rarely({ ...options, ...words })
  }

  start(): void {
    const { view, bell } = this.#options
    this.#offs = [view.onChange(change => this.#look(change)), bell.on(ring => this.#hear(ring))]
    this.#lookAtAll()
  }

  stop(): void {
    this.#stopped = true
    void this.#later.stop()
    for (const off of this.#offs) off()
  }

  /** Judges the state of a pod. The script refuses the finding while an operation runs. */
  async judge(pod: PodFacts, mark?: Mark): Promise<void> {
    const finding = this.#findings.of(pod)
    if (finding) await this.#report(pod, finding, mark)
  }

  /** Records that the pod of a running lab is gone, by its DELETED event or the API server's answer. */
  async judgeGone(user: string, podUid: string, mark?: Mark): Promise<void> {
    const events: NewEvent[] = [['error', 'The pod of the lab is gone: it was removed from outside, or with its node']]
    this.#findings.forget(podUid)
    this.#reported.delete(podUid)
    // Usually an operation runs, and the script refuses. All of these are judged again at its end, or when rings were missed.
    const refused = this.#mustWait(user, mark)
    const written = !refused && (await this.#record({ user, podUid, outcome: 'failed', detail: 'gone', events }, mark))
    if (written) this.#forgetGone(user, podUid)
    else this.#gone.set(user, (this.#gone.get(user) ?? new Set()).add(podUid))
  }

  #forgetGone(user: string, podUid: string): void {
    const gone = this.#gone.get(user)
    if (gone?.delete(podUid) && gone.size === 0) this.#gone.delete(user)
  }

  /** True while rings show that an operation of this user runs: a finding would be refused, and is judged at its end. */
  #mustWait(user: string, mark: Mark | undefined): boolean {
    return mark === undefined && this.#heard.of(user)?.state === 'runs'
  }

  #hear(ring: Ring): void {
    if (ring.subject && ring.subject.kind !== labKind) return
    const { view, namespacePrefix } = this.#options
    const isCreation = (user: string, op: number) =>
      view.namespace(labNames(namespacePrefix, user).namespace)?.op === op
    const isDeleted = this.#heard.hear(ring, isCreation)
    if (ring.subject === undefined) this.#lookAtAll()
    else if (ring.what === 'ended') this.#lookAgain(ring.subject.name, isDeleted)
  }

  #look(change: Change): void {
    const { namespace, podUid, goneUid, missing } = change
    if (goneUid !== undefined) this.#seen.delete(goneUid)
    else if (podUid === undefined) this.#lookIntoLater(namespace)
    else if (!this.#options.view.namespace(namespace)) this.#landedLater(namespace)
    if (goneUid !== undefined || missing) this.#lookAtLost(change)
    else if (podUid !== undefined) this.#judgeSoon(change, podUid)
  }

  /** A pod that is gone was possibly not judged since it changed. */
  #lookAtLost({ pod, goneUid, missing }: Change): void {
    if (!pod?.user) return
    const { user, uid } = pod
    const unjudged = this.#takeSoon(uid)
    if (missing || goneUid === undefined) this.#ask(user, uid)
    else {
      this.#run(async () => {
        if (unjudged) await this.#judgeLast(pod, unjudged)
        await this.judgeGone(user, goneUid)
      })
    }
  }

  /** A pod passes through several states in a second. Only the last one is read and judged. */
  #judgeSoon(change: Change, podUid: string): void {
    const { namespace } = change
    const noted = this.#soon.get(podUid)
    if (noted) return void noted.push(change)
    this.#soon.set(podUid, [change])
    this.#later.after(stateMs, () => {
      const changes = this.#takeSoon(podUid)
      if (!changes) return
      const user = this.#options.view.namespace(namespace)?.user
      // At the end of an operation its pod is judged.
      if (user === undefined || !this.#mustWait(user, undefined)) this.#judgeIfThere(namespace, podUid, changes)
    })
  }

  #takeSoon(podUid: string): readonly Change[] | undefined {
    const changes = this.#soon.get(podUid)
    this.#soon.delete(podUid)
    return changes
  }

  /**
   * Each retry judges the state that the watch shows by then, since a pod may be well again. If the pod is gone by then,
   * its last known state is judged.
   * @param changes those since the pod was last judged
   */
  #judgeIfThere(namespace: string, podUid: string, changes: readonly Change[] = []): void {
    let last: PodFacts | undefined
    let noted = changes
    this.#run(async () => {
      const pod = this.#options.view.pods(namespace).find(({ uid }) => uid === podUid)
      if (pod && !pod.deleting) noted = [{ namespace, pod }]
      last = pod ?? last
      if (last?.user) await this.#judgeLast(last, noted)
    })
  }

  /**
   * Judges the last state of a pod. If the pod is being deleted, its last state before that is judged first: a lab that
   * ended well looks like one that was deleted from outside.
   */
  async #judgeLast(pod: PodFacts, changes: readonly Change[]): Promise<void> {
    const before = pod.deleting ? changes.findLast(change => change.pod?.deleting === false)?.pod : undefined
    if (before) await this.judge(before)
    await this.judge(pod)
  }

  /** A list lacks a pod that was there: a reason to ask, but no proof that it is gone. */
  #ask(user: string, podUid: string): void {
    this.#run(async () => {
      if (await this.#options.debris.isPodGone(user, podUid)) await this.judgeGone(user, podUid)
    })
  }

  /**
   * An operation of this user has ended: findings that were refused while it ran may be written now. A deleted lab has no
   * record to write them to.
   */
  #lookAgain(user: string, isDeleted: boolean): void {
    const { view, namespacePrefix } = this.#options
    const { namespace, lab } = labNames(namespacePrefix, user)
    for (const pod of view.pods(namespace)) {
      this.#reported.delete(pod.uid)
      if (pod.name === lab && !isDeleted) this.#judgeIfThere(namespace, pod.uid)
    }
    const gone = this.#gone.get(user) ?? []
    this.#gone.delete(user)
    if (!isDeleted) {
      for (const podUid of gone) this.#run(() => this.#judgeGoneAgain(user, podUid))
      this.#run(() => this.#missing(user, namespace))
    }
    this.#runLater(settleMs, () => this.#tidy(namespace))
  }

  /** Removes debris, unless the rings explain all that the watches show: then the record need not be read. */
  async #tidy(name: string): Promise<void> {
    const { view, debris } = this.#options
    const namespace = view.namespace(name)
    const last = this.#heard.of(namespace?.user ?? '')
    if (namespace && last && isExplained(last, namespace, view.pods(name))) return
    await debris.remove(name)
  }

  /** A new namespace usually belongs to an operation, but a late write may have made it. */
  #lookIntoLater(name: string): void {
    const uid = this.#options.view.namespace(name)?.uid
    if (uid === undefined || this.#seen.has(uid)) return
    this.#seen.add(uid)
    this.#runLater(lateWriteMs, () => this.#tidy(name))
  }

  /** A pod without its namespace: usually one watch is ahead of the other, but it may be a late write. */
  #landedLater(name: string): void {
    const { view, debris } = this.#options
    if (this.#landed.has(name)) return
    this.#landed.add(name)
    this.#runLater(settleMs, async () => {
      this.#landed.delete(name)
      if (!view.namespace(name)) await debris.restore(name)
    })
  }

  #runLater(ms: number, work: () => Promise<void>, pauseMs?: number): void {
    this.#later.after(ms, () => this.#run(work, pauseMs))
  }

  #lookAtAll(): void {
    const { view } = this.#options
    this.#reported.clear()
    const before = [...this.#gone]
    this.#gone.clear()
    for (const [user, gone] of before) for (const podUid of gone) this.#run(() => this.#judgeGoneAgain(user, podUid))
    for (const namespace of view.namespaces()) {
      for (const { uid } of view.pods(namespace.name)) this.#judgeIfThere(namespace.name, uid)
    }
  }

  /** A finding that is refused while no operation runs concerns another pod, or is recorded already: it is dropped. */
  async #judgeGoneAgain(user: string, podUid: string): Promise<void> {
    await this.judgeGone(user, podUid)
    const { record } = await this.#options.store.standing(user)
    if (!record?.active) this.#forgetGone(user, podUid)
  }

  /** Asks for the pod of a running lab that our watches lack: it may have ended before the record became `running`. */
  async #missing(user: string, namespace: string): Promise<void> {
    const { store, view, debris } = this.#options
    if (view.pods(namespace).length > 0 || this.#heard.of(user)?.state === 'failed') return
    const { record } = await store.standing(user)
    if (record?.status !== 'running' || record.active || !record.podUid) return
    if (await debris.isPodGone(user, record.podUid)) await this.judgeGone(user, record.podUid)
  }

  #judgeLater(pod: PodFacts, afterMs: number): void {
    this.#later.after(afterMs, () => this.#judgeIfThere(pod.namespace, pod.uid))
  }

  async #report(pod: PodFacts, { lasting, ...finding }: Finding, mark?: Mark): Promise<void> {
    const key = `${finding.outcome} ${finding.detail}`
    if (!pod.user || this.#mustWait(pod.user, mark) || (!mark && this.#reported.get(pod.uid) === key)) return
    const { user, uid: podUid } = pod
    this.#reported.set(podUid, key)
    try {
      if (lasting && !(await this.#isStill(lasting, pod))) this.#reported.delete(podUid)
      else await this.#record({ ...finding, user, podUid }, mark)
    } catch (error) {
      this.#reported.delete(podUid)
      throw error
    }
  }

  /** Asks the API server: after a halt, or on a silent connection, the watch shows trouble that is over. */
  async #isStill(trouble: LifeVerdict['kind'], pod: PodFacts): Promise<boolean> {
    const { debris, heedsStamp } = this.#options
    const now = await debris.podNow(pod)
    return now !== undefined && judgeLife(now, heedsStamp).kind === trouble
  }

  async #record(finding: Omit<PodFinding, 'timeoutMs'>, mark?: Mark): Promise<boolean> {
    const { store, audit, log, deleteTimeoutMs } = this.#options
    const { user, outcome } = finding
    const by = outcome === 'ended' ? byController(audit, user, 'lab_ended') : ''
    const written = await store.settlePod({ ...finding, by, timeoutMs: deleteTimeoutMs }, mark)
    if (written) log.info({ user, outcome }, 'a lab changed outside operations')
    return written
  }

  /** Retries with longer and longer pauses while Redis or the API server is silent or refuses. */
  #run(judge: () => Promise<void>, pauseMs = 250): void {
    const again = (capMs: number) => this.#runLater(pauseMs, judge, Math.min(pauseMs * 2, capMs))
    judge().then(
      () => this.#refusals.worked(),
      error => {
        if (this.#stopped) return
        if (error instanceof RetryLater) return again(againCapMs.silence)
        if (!(error instanceof KubeError))
          return this.#options.log.warn({ reason: (error as Error).message }, 'a judgement failed')
        this.#refusals.failed(inOperatorsWords(error))
        again(againCapMs.refusal)
      },
    )
  }
}
