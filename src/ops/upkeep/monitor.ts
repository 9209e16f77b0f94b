/**
 * What befalls labs between operations. A watch only says "look again"; what is written is one conditional script, and
 * what that refuses because an operation runs is judged again when the bell tells the operation's end.
 */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { inOperatorsWords, KubeError } from '../../kube/client.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { judgeLife } from '../../kube/pods/judge.ts'
import { labNames } from '../../labs/names.ts'
import type { Bell } from '../../store/bell.ts'
import type { CompareStore, Mark, PodWord } from '../../store/compares.ts'
import type { NewEvent } from '../../store/records.ts'
import type { Logger } from '../../telemetry/log.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import { type Auditor, byController } from '../audit.ts'
import type { Change, ClusterView } from '../cluster.ts'
import type { Debris } from './debris.ts'

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
}

type Word = Omit<PodWord, 'user' | 'podUid' | 'timeoutMs'>

/** Trouble with a pod that is failed only when it lasts, since when by our monotonic clock. */
interface Trouble {
  readonly kind: 'crashing' | 'unknown'
  readonly sinceMs: number
  /** Since when it has been well again. */
  readonly calmSinceMs: number | undefined
}

/** What Redis or the API server does not answer is asked again after so long at most. What is refused does not pass soon. */
const againCapMs = { silence: 5_000, refusal: 30_000 }
/** How long watches may show a deletion's last objects, or a pod before its namespace, until these are looked into. */
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
  /** Names of namespaces that pods are in although the watches do not show them. */
  readonly #landed = new Set<string>()
  /** Pods that are gone, with their users, whose end was refused. */
  readonly #gone = new Map<string, string>()
  readonly #closed = new AbortController()
  readonly #refusals: Rarely
  #offs: (() => void)[] = []

  constructor(options: MonitorOptions) {
    this.#options = options
    const words = { trouble: 'what befalls labs cannot be followed', over: 'what befalls labs can be followed again' }
    this.#refusals = new Rarely({ ...options, ...words })
  }

  start(): void {
    const { view, bell } = this.#options
    this.#offs = [
      view.onChange(change => this.#look(change)),
      bell.on(ring => {
        if (ring.what === 'ended') this.#lookAgain(ring.subject.name)
        if (ring.subject === undefined) this.#lookAtAll()
      }),
    ]
    this.#lookAtAll()
  }

  stop(): void {
    this.#closed.abort()
    for (const off of this.#offs) off()
  }

  /** Judges a pod as it is; a lab that is being created or deleted is its operation's business. */
  async judge(pod: PodFacts, mark?: Mark): Promise<void> {
    const word = this.#wordOn(pod)
    if (word) await this.#say(pod, word, mark)
  }

  /** The pod of a running lab is no more: its DELETED event was seen, or the API server said so. */
  async judgeGone(user: string, podUid: string, mark?: Mark): Promise<void> {
    const events: NewEvent[] = [['error', 'The pod of the lab is gone: it was removed from outside, or with its node']]
    this.#trouble.delete(podUid)
    this.#said.delete(podUid)
    const written = await this.#tell({ user, podUid, outcome: 'failed', detail: 'gone', events }, mark)
    // An operation runs, as a rule. Should the ring that tells its end be missed, all of these are judged again.
    if (written) this.#gone.delete(podUid)
    else this.#gone.set(podUid, user)
  }

  #look({ namespace, pod, goneUid, missing }: Change): void {
    if (goneUid !== undefined) this.#seen.delete(goneUid)
    else if (!pod) this.#lookIntoLater(namespace)
    else if (!this.#options.view.namespace(namespace)) this.#landedLater(namespace)
    if (!pod?.user) return
    const { user, uid } = pod
    if (missing) this.#ask(user, uid)
    else this.#run(() => (goneUid === undefined ? this.judge(pod) : this.judgeGone(user, goneUid)))
  }

  /** A list lacks a pod that was there: reason to ask, no proof. */
  #ask(user: string, podUid: string): void {
    this.#run(async () => {
      if (await this.#options.debris.isPodGone(user, podUid)) await this.judgeGone(user, podUid)
    })
  }

  /** An operation of this user has ended: what was refused while it ran may be written now. */
  #lookAgain(user: string): void {
    const { view, namespacePrefix, debris } = this.#options
    const { namespace, lab } = labNames(namespacePrefix, user)
    for (const pod of view.pods(namespace)) {
      this.#said.delete(pod.uid)
      if (pod.name === lab) this.#run(() => this.judge(pod))
    }
    for (const [podUid, of] of this.#gone) {
      if (of !== user) continue
      this.#gone.delete(podUid)
      this.#run(() => this.#judgeGoneAgain(user, podUid))
    }
    this.#run(() => this.#missing(user, namespace))
    this.#later(settleMs, () => debris.remove(namespace))
  }

  /** A namespace that is new to us is an operation's, as a rule; one that a late write made is nobody's. */
  #lookIntoLater(name: string): void {
    const { view, debris } = this.#options
    const uid = view.namespace(name)?.uid
    if (uid === undefined || this.#seen.has(uid)) return
    this.#seen.add(uid)
    this.#later(lateWriteMs, () => debris.remove(name))
  }

  /** A pod without its namespace: one watch is ahead of the other, as a rule, or a late write has landed. */
  #landedLater(name: string): void {
    const { view, debris } = this.#options
    if (this.#landed.has(name)) return
    this.#landed.add(name)
    this.#later(settleMs, async () => {
      this.#landed.delete(name)
      if (!view.namespace(name)) await debris.restore(name)
    })
  }

  #later(ms: number, work: () => Promise<void>, pauseMs?: number): void {
    this.#options.clock.sleep(ms, this.#closed.signal).then(
      () => this.#run(work, pauseMs),
      () => {},
    )
  }

  #lookAtAll(): void {
    const { view } = this.#options
    this.#said.clear()
    for (const [podUid, user] of this.#gone) this.#run(() => this.judgeGone(user, podUid))
    this.#gone.clear()
    for (const namespace of view.namespaces()) {
      for (const pod of view.pods(namespace.name)) this.#look({ namespace: namespace.name, pod })
    }
  }

  /** What is refused at rest is of another pod, or settled: it is not kept. */
  async #judgeGoneAgain(user: string, podUid: string): Promise<void> {
    await this.judgeGone(user, podUid)
    const { record } = await this.#options.store.standing(user)
    if (!record?.active) this.#gone.delete(podUid)
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

  #wordOn(pod: PodFacts): Word | undefined {
    const verdict = judgeLife(pod)
    if (verdict.kind === 'ended') {
      return { outcome: 'ended', detail: '', events: [['info', 'The lab was shut down']] }
    }
    if (verdict.kind === 'failed') return failure(verdict.message)
    if (verdict.kind === 'unknown' || verdict.kind === 'crashing') {
      const graceMs = verdict.kind === 'unknown' ? this.#options.unknownGraceMs : this.#options.crashLoopGraceMs
      if (this.#lasts(pod, verdict.kind, graceMs)) return failure(verdict.message)
    } else this.#calm(pod)
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
    const now = this.#options.clock.monotonicMs()
    const before = this.#trouble.get(pod.uid)
    const calm = before?.calmSinceMs !== undefined && now - before.calmSinceMs >= graceMs
    const sinceMs = before?.kind === kind && !calm ? before.sinceMs : now
    const leftMs = sinceMs + graceMs - now
    if (leftMs <= 0) return true
    if (before?.sinceMs !== sinceMs) this.#judgeLater(pod, leftMs)
    this.#trouble.set(pod.uid, { kind, sinceMs, calmSinceMs: undefined })
    return false
  }

  /** A lab that is well between two crashes is in trouble still, until it has been well for the whole grace. */
  #calm(pod: PodFacts): void {
    const before = this.#trouble.get(pod.uid)
    if (before && before.calmSinceMs === undefined) {
      this.#trouble.set(pod.uid, { ...before, calmSinceMs: this.#options.clock.monotonicMs() })
    }
  }

  #judgeLater(pod: PodFacts, afterMs: number): void {
    const { clock, view } = this.#options
    const again = () => {
      const still = view.pods(pod.namespace).find(candidate => candidate.uid === pod.uid)
      if (still) this.#run(() => this.judge(still))
    }
    // A timer may come a hair early, and then nothing would look again.
    clock.sleep(afterMs + 20, this.#closed.signal).then(again, () => {})
  }

  async #say(pod: PodFacts, word: Word, mark?: Mark): Promise<void> {
    const key = `${word.outcome} ${word.detail}`
    if (!pod.user || (!mark && this.#said.get(pod.uid) === key)) return
    this.#said.set(pod.uid, key)
    await this.#tell({ ...word, user: pod.user, podUid: pod.uid }, mark).catch(error => {
      this.#said.delete(pod.uid)
      throw error
    })
  }

  async #tell(word: Omit<PodWord, 'timeoutMs'>, mark?: Mark): Promise<boolean> {
    const { store, audit, log, deleteTimeoutMs } = this.#options
    const by = word.outcome === 'ended' ? byController(audit, word.user, 'lab_ended') : ''
    const written = await store.tellPod({ ...word, by, timeoutMs: deleteTimeoutMs }, mark)
    if (written) log.info({ user: word.user, outcome: word.outcome }, 'what befell a lab was recorded')
    return written
  }

  /** What Redis or the API server does not answer now, or refuses, is tried again. */
  #run(judge: () => Promise<void>, pauseMs = 250): void {
    const again = (capMs: number) => this.#later(pauseMs, judge, Math.min(pauseMs * 2, capMs))
    judge().then(
      () => this.#refusals.worked(),
      error => {
        if (this.#closed.signal.aborted) return
        if (error instanceof RetryLater) return again(againCapMs.silence)
        if (!(error instanceof KubeError))
          return this.#options.log.warn({ reason: (error as Error).message }, 'a judgement failed')
        this.#refusals.failed(inOperatorsWords(error))
        again(againCapMs.refusal)
      },
    )
  }
}

function failure(message: string): Word {
  return { outcome: 'failed', detail: '', events: [['error', message]] }
}
