/**
 * What befalls labs between operations. A watch only says "look again"; what is written is one conditional script, and
 * what that refuses because an operation runs is judged again when the bell tells the operation's end.
 */
import type { Clock } from '../clock.ts'
import type { PodFacts } from '../labs/facts.ts'
import { judgeLife } from '../labs/judge.ts'
import { labNames } from '../labs/names.ts'
import type { Bell } from '../store/bell.ts'
import type { CompareStore, PodWord } from '../store/compares.ts'
import type { NewEvent } from '../store/records.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Change, ClusterView } from './cluster.ts'
import type { Debris } from './debris.ts'

export interface MonitorOptions {
  readonly store: CompareStore
  readonly bell: Bell
  readonly view: ClusterView
  readonly debris: Debris
  readonly clock: Clock
  readonly log: Logger
  readonly namespacePrefix: string
  readonly deleteTimeoutMs: number
  readonly crashLoopGraceMs: number
  readonly unknownGraceMs: number
}

/** Trouble with a pod that is failed only when it lasts, since when by our monotonic clock. */
interface Trouble {
  readonly kind: 'crashing' | 'unknown'
  readonly sinceMs: number
}

/** How long a deletion's last objects may still show in a replica's watches before they are looked into. */
const settleMs = 2_000
/** How long after it was first seen a namespace is asked whose it is; what runs by then is looked into at its end. */
const lateWriteMs = 20_000

export class Monitor {
  readonly #options: MonitorOptions
  readonly #trouble = new Map<string, Trouble>()
  /** The last word on each pod that was written or refused, so that it is not sent with every change of the pod. */
  readonly #said = new Map<string, string>()
  /** UIDs of namespaces that were, or will be, looked into. */
  readonly #seen = new Set<string>()
  readonly #closed = new AbortController()
  #offs: (() => void)[] = []

  constructor(options: MonitorOptions) {
    this.#options = options
  }

  start(): void {
    const { view, bell } = this.#options
    this.#offs = [
      view.onChange(change => this.#look(change)),
      bell.on(ring => {
        if (ring.what === 'ended') this.#lookAgain(ring.user)
        if (ring.what === 'missed' || ring.what === 'compared') this.#lookAtAll()
      }),
    ]
    this.#lookAtAll()
  }

  stop(): void {
    this.#closed.abort()
    for (const off of this.#offs) off()
  }

  /** Judges a pod as it is; a lab that is being created or deleted is its operation's business. */
  async judge(pod: PodFacts): Promise<void> {
    const word = this.#wordOn(pod)
    if (word) await this.#say(pod, word)
  }

  /** The pod of a running lab is no more: its DELETED event was seen, or the API server said so. */
  async judgeGone(user: string, podUid: string): Promise<void> {
    const events: NewEvent[] = [['error', 'The pod of the lab is gone: it was removed from outside, or with its node']]
    this.#trouble.delete(podUid)
    this.#said.delete(podUid)
    await this.#tell({ user, podUid, outcome: 'failed', detail: 'gone', events })
  }

  #look({ namespace, pod, goneUid }: Change): void {
    if (goneUid !== undefined) this.#seen.delete(goneUid)
    else if (!pod) this.#lookIntoLater(namespace)
    if (!pod?.user) return
    const { user } = pod
    this.#run(() => (goneUid === undefined ? this.judge(pod) : this.judgeGone(user, goneUid)))
  }

  /** An operation of this user has ended: what was refused while it ran may be written now. */
  #lookAgain(user: string): void {
    const { view, namespacePrefix, clock, debris } = this.#options
    const { namespace, lab } = labNames(namespacePrefix, user)
    for (const pod of view.pods(namespace)) {
      this.#said.delete(pod.uid)
      if (pod.name === lab) this.#run(() => this.judge(pod))
    }
    this.#run(() => this.#missing(user, namespace))
    clock.sleep(settleMs, this.#closed.signal).then(
      () => this.#run(() => debris.remove(namespace)),
      () => {},
    )
  }

  /** A namespace that is new to us is an operation's, as a rule; one that a late write made is nobody's. */
  #lookIntoLater(name: string): void {
    const { view, clock, debris } = this.#options
    const uid = view.namespace(name)?.uid
    if (uid === undefined || this.#seen.has(uid)) return
    this.#seen.add(uid)
    clock.sleep(lateWriteMs, this.#closed.signal).then(
      () => this.#run(() => debris.remove(name)),
      () => {},
    )
  }

  #lookAtAll(): void {
    const { view } = this.#options
    this.#said.clear()
    for (const namespace of view.namespaces()) {
      for (const pod of view.pods(namespace.name)) this.#look({ namespace: namespace.name, pod })
    }
  }

  /** A lab that runs, and whose pod our watches lack: its end may have been seen before it was said to run. */
  async #missing(user: string, namespace: string): Promise<void> {
    const { store, view, debris } = this.#options
    const seen = view.pods(namespace)
    if (seen.length > 0) return
    const { record } = await store.standing(user)
    if (record?.status !== 'running' || record.active || !record.podUid) return
    if (await debris.isPodGone(user, record.podUid)) await this.judgeGone(user, record.podUid)
  }

  #wordOn(pod: PodFacts): Omit<PodWord, 'user' | 'podUid' | 'timeoutMs'> | undefined {
    const verdict = judgeLife(pod)
    if (verdict.kind === 'ended') {
      return { outcome: 'ended', detail: '', events: [['info', 'The lab was shut down']] }
    }
    if (verdict.kind === 'failed') return failure(verdict.message)
    if (verdict.kind === 'unknown' || verdict.kind === 'crashing') {
      const graceMs = verdict.kind === 'unknown' ? this.#options.unknownGraceMs : this.#options.crashLoopGraceMs
      if (this.#lasts(pod, verdict.kind, graceMs)) return failure(verdict.message)
    } else this.#trouble.delete(pod.uid)
    if (verdict.kind === 'unknown' || verdict.restarts === 0) return undefined
    const again = `It was restarted in its place (${verdict.restarts})`
    return {
      outcome: 'restarted',
      detail: verdict.restarts,
      events: [['error', [verdict.message, again].filter(Boolean).join('. ')]],
    }
  }

  /** Whether a trouble has lasted longer than its grace; where not yet, the pod is looked at again then. */
  #lasts(pod: PodFacts, kind: Trouble['kind'], graceMs: number): boolean {
    const { clock, view } = this.#options
    const now = clock.monotonicMs()
    const before = this.#trouble.get(pod.uid)
    if (before?.kind === kind) return now - before.sinceMs >= graceMs
    this.#trouble.set(pod.uid, { kind, sinceMs: now })
    const again = () => {
      const still = view.pods(pod.namespace).find(candidate => candidate.uid === pod.uid)
      if (still) this.#run(() => this.judge(still))
    }
    clock.sleep(graceMs, this.#closed.signal).then(again, () => {})
    return false
  }

  async #say(pod: PodFacts, word: Omit<PodWord, 'user' | 'podUid' | 'timeoutMs'>): Promise<void> {
    const key = `${word.outcome} ${word.detail}`
    if (!pod.user || this.#said.get(pod.uid) === key) return
    this.#said.set(pod.uid, key)
    await this.#tell({ ...word, user: pod.user, podUid: pod.uid }).catch(error => {
      this.#said.delete(pod.uid)
      throw error
    })
  }

  async #tell(word: Omit<PodWord, 'timeoutMs'>): Promise<void> {
    const written = await this.#options.store.tellPod({ ...word, timeoutMs: this.#options.deleteTimeoutMs })
    if (written) this.#options.log.info({ user: word.user, outcome: word.outcome }, 'what befell a lab was recorded')
  }

  /** What fails now is tried again: a change that nobody judged would be a lab that nobody misses. */
  #run(judge: () => Promise<void>, pauseMs = 250): void {
    judge().catch(error => {
      if (this.#closed.signal.aborted) return
      this.#options.log.debug({ reason: (error as Error).message }, 'a judgement is put off')
      this.#options.clock.sleep(pauseMs, this.#closed.signal).then(
        () => this.#run(judge, Math.min(pauseMs * 2, 5_000)),
        () => {},
      )
    })
  }
}

function failure(message: string): Omit<PodWord, 'user' | 'podUid' | 'timeoutMs'> {
  return { outcome: 'failed', detail: '', events: [['error', message]] }
}
