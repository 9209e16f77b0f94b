/**
 * Watches labs between operations, and records pods that fail, end or vanish. A change in a watch only starts a look. Each
 * record is written by one conditional script. If that refuses because an operation runs, the pod is judged again after
 * the ring for the operation's end.
 */
import type { Clock } from '../../base/clock.ts'
import { labKind } from '../../base/subject.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { labNames } from '../../labs/names.ts'
import type { Bell } from '../../store/bell.ts'
import type { CompareStore, Mark } from '../../store/compares.ts'
import type { Ring } from '../../store/rings.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Auditor } from '../audit.ts'
import type { Change, ClusterView } from '../cluster.ts'
import type { Debris } from './debris.ts'
import { Heard, isExplained } from './heard.ts'
import { Retries } from './retries.ts'
import { Verdicts } from './verdicts.ts'

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

/** From a change of a pod to its judgement; `Later` adds up to 100 ms. */
const stateMs = 500
/** How long watches may show the last objects of a deletion, or a pod before its namespace, before these are checked. */
const settleMs = 2_000
/** Grace before a new namespace is checked; if an operation runs then, the check follows its end. */
const lateWriteMs = 20_000

export class Monitor {
  readonly #options: MonitorOptions
  readonly #verdicts: Verdicts
  /** UIDs of namespaces that were or will be checked. */
  readonly #seen = new Set<string>()
  /** Names of namespaces that the watches do not show although they show pods in them. */
  readonly #landed = new Set<string>()
  readonly #heard = new Heard()
  /** The changes of pods that will be judged, by UID. Their states are not read yet. */
  readonly #soon = new Map<string, Change[]>()
  readonly #retries: Retries
  #offs: (() => void)[] = []

  constructor(options: MonitorOptions) {
    this.#options = options
    this.#retries = new Retries(options)
    this.#verdicts = new Verdicts({
      ...options,
      heard: this.#heard,
      onLasting: (pod, afterMs) => this.#judgeLater(pod, afterMs),
    })
  }

  start(): void {
    const { view, bell } = this.#options
    this.#offs = [view.onChange(change => this.#look(change)), bell.on(ring => this.#hear(ring))]
    this.#lookAtAll()
  }

  stop(): void {
    this.#retries.stop()
    for (const off of this.#offs) off()
  }

  /** See `Verdicts.judge`. */
  judge(pod: PodFacts, mark?: Mark): Promise<void> {
    return this.#verdicts.judge(pod, mark)
  }

  /** See `Verdicts.judgeGone`. */
  judgeGone(user: string, podUid: string, mark?: Mark): Promise<void> {
    return this.#verdicts.judgeGone(user, podUid, mark)
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
      this.#retries.run(async () => {
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
    this.#retries.after(stateMs, () => {
      const changes = this.#takeSoon(podUid)
      if (!changes) return
      const user = this.#options.view.namespace(namespace)?.user
      // At the end of an operation its pod is judged.
      if (user === undefined || !this.#verdicts.mustWait(user)) this.#judgeIfThere(namespace, podUid, changes)
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
    this.#retries.run(async () => {
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
    this.#retries.run(async () => {
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
      this.#verdicts.forgetReport(pod.uid)
      if (pod.name === lab && !isDeleted) this.#judgeIfThere(namespace, pod.uid)
    }
    const gone = this.#verdicts.takeGone(user)
    if (!isDeleted) {
      for (const podUid of gone) this.#retries.run(() => this.#judgeGoneAgain(user, podUid))
      this.#retries.run(() => this.#missing(user, namespace))
    }
    this.#retries.run(() => this.#tidy(namespace), settleMs)
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
    this.#retries.run(() => this.#tidy(name), lateWriteMs)
  }

  /** A pod without its namespace: usually one watch is ahead of the other, but it may be a late write. */
  #landedLater(name: string): void {
    const { view, debris } = this.#options
    if (this.#landed.has(name)) return
    this.#landed.add(name)
    this.#retries.run(async () => {
      this.#landed.delete(name)
      if (!view.namespace(name)) await debris.restore(name)
    }, settleMs)
  }

  #lookAtAll(): void {
    const { view } = this.#options
    this.#verdicts.forgetReports()
    for (const [user, gone] of this.#verdicts.takeAllGone())
      for (const podUid of gone) this.#retries.run(() => this.#judgeGoneAgain(user, podUid))
    for (const namespace of view.namespaces()) {
      for (const { uid } of view.pods(namespace.name)) this.#judgeIfThere(namespace.name, uid)
    }
  }

  /** A finding that is refused while no operation runs concerns another pod, or is recorded already: it is dropped. */
  async #judgeGoneAgain(user: string, podUid: string): Promise<void> {
    await this.judgeGone(user, podUid)
    const { record } = await this.#options.store.standing(user)
    if (!record?.active) this.#verdicts.forgetGone(user, podUid)
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
    this.#retries.after(afterMs, () => this.#judgeIfThere(pod.namespace, pod.uid))
  }
}
