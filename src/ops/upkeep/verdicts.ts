/** Judges one pod of a lab at a time, and records what is found by one conditional script. */
import type { Clock } from '../../base/clock.ts'
import type { LifeVerdict, PodFacts } from '../../kube/pods/facts.ts'
import { judgeLife } from '../../kube/pods/judge.ts'
import type { CompareStore, Mark, PodFinding } from '../../store/compares.ts'
import type { NewEvent } from '../../store/records.ts'
import type { Logger } from '../../telemetry/log.ts'
import { type Auditor, byController } from '../audit.ts'
import type { Debris } from './debris.ts'
import { type Finding, Findings, type FindingsOptions } from './findings.ts'
import type { Heard } from './heard.ts'

export interface VerdictsOptions extends FindingsOptions {
  readonly store: CompareStore
  readonly debris: Debris
  readonly clock: Clock
  readonly log: Logger
  readonly audit: Auditor
  readonly deleteTimeoutMs: number
  /** The conclusions from the rings of labs. */
  readonly heard: Pick<Heard, 'of'>
}

export class Verdicts {
  readonly #options: VerdictsOptions
  readonly #findings: Findings
  /** The last finding on each pod that was written or refused, so that it is not sent with every change of the pod. */
  readonly #reported = new Map<string, string>()
  /** UIDs of pods that are gone but whose end could not be recorded, by user. */
  readonly #gone = new Map<string, Set<string>>()

  constructor(options: VerdictsOptions) {
    this.#options = options
    this.#findings = new Findings(options)
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
    const refused = this.mustWait(user, mark)
    const written = !refused && (await this.#record({ user, podUid, outcome: 'failed', detail: 'gone', events }, mark))
    if (written) this.forgetGone(user, podUid)
    else this.#gone.set(user, (this.#gone.get(user) ?? new Set()).add(podUid))
  }

  forgetGone(user: string, podUid: string): void {
    const gone = this.#gone.get(user)
    if (gone?.delete(podUid) && gone.size === 0) this.#gone.delete(user)
  }

  /** True while rings show that an operation of this user runs: a finding would be refused, and is judged at its end. */
  mustWait(user: string, mark?: Mark): boolean {
    return mark === undefined && this.#options.heard.of(user)?.state === 'runs'
  }

  /** The next finding on this pod is sent, also if it is the last one again. */
  forgetReport(podUid: string): void {
    this.#reported.delete(podUid)
  }

  forgetReports(): void {
    this.#reported.clear()
  }

  /** Takes the pods of a user whose end could not be recorded: they are to be judged again. */
  takeGone(user: string): Iterable<string> {
    const gone = this.#gone.get(user) ?? []
    this.#gone.delete(user)
    return gone
  }

  /** The same of all users. */
  takeAllGone(): readonly (readonly [user: string, podUids: Iterable<string>])[] {
    const all = [...this.#gone]
    this.#gone.clear()
    return all
  }

  async #report(pod: PodFacts, { lasting, ...finding }: Finding, mark?: Mark): Promise<void> {
    const key = `${finding.outcome} ${finding.detail}`
    if (!pod.user || this.mustWait(pod.user, mark) || (!mark && this.#reported.get(pod.uid) === key)) return
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
}
