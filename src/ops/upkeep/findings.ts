/** Judges the pods of labs between operations. A trouble becomes a finding only when it has lasted longer than its grace. */
import type { Clock } from '../../base/clock.ts'
import type { PodFacts } from '../../kube/pods/facts.ts'
import { judgeLife } from '../../kube/pods/judge.ts'
import type { PodFinding } from '../../store/compares.ts'

export interface Finding extends Omit<PodFinding, 'user' | 'podUid' | 'timeoutMs'> {
  /** The trouble that has lasted. Our clock says so, but the state of the pod may be from before a halt of this replica. */
  readonly lasting?: Trouble['kind']
}

export interface FindingsOptions {
  readonly clock: Clock
  readonly crashLoopGraceMs: number
  readonly unknownGraceMs: number
  /** As for `judgeLife`. */
  readonly heedsStamp?: boolean
  /** Called once for each trouble: the pod is to be judged again after this time. */
  readonly onLasting: (pod: PodFacts, afterMs: number) => void
}

/** Trouble that makes a pod failed only if it lasts; times by our monotonic clock. */
interface Trouble {
  readonly kind: 'crashing' | 'unknown'
  readonly sinceMs: number
  /** Since when the pod has been well again. */
  readonly calmSinceMs: number | undefined
}

export class Findings {
  readonly #options: FindingsOptions
  readonly #trouble = new Map<string, Trouble>()

  constructor(options: FindingsOptions) {
    this.#options = options
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    this.#trouble.delete(podUid)
  }

  /** Undefined if nothing is to be recorded, or not yet. */
  of(pod: PodFacts): Finding | undefined {
    const verdict = judgeLife(pod, this.#options.heedsStamp)
    if (verdict.kind === 'ended') return { outcome: 'ended', detail: '', events: [['info', verdict.message]] }
    if (verdict.kind === 'failed') return failure(verdict.message)
    if (verdict.kind === 'unknown' || verdict.kind === 'crashing') {
      const graceMs = verdict.kind === 'unknown' ? this.#options.unknownGraceMs : this.#options.crashLoopGraceMs
      if (this.#lasts(pod, verdict.kind, graceMs)) return { ...failure(verdict.message), lasting: verdict.kind }
    } else this.#calm(pod)
    if (verdict.kind === 'unknown' || verdict.restarts === 0) return undefined
    const again = `It was restarted in its place (${verdict.restarts})`
    return {
      outcome: 'restarted',
      detail: verdict.restarts,
      events: [['error', [verdict.message, again].filter(Boolean).join('. ')]],
    }
  }

  /** True if a trouble has lasted longer than its grace. Otherwise the pod is judged again when the grace is over. */
  #lasts(pod: PodFacts, kind: Trouble['kind'], graceMs: number): boolean {
    const now = this.#options.clock.monotonicMs()
    const before = this.#trouble.get(pod.uid)
    const calm = before?.calmSinceMs !== undefined && now - before.calmSinceMs >= graceMs
    const sinceMs = before?.kind === kind && !calm ? before.sinceMs : now
    const leftMs = sinceMs + graceMs - now
    if (leftMs <= 0) return true
    if (before?.sinceMs !== sinceMs) this.#options.onLasting(pod, leftMs)
    this.#trouble.set(pod.uid, { kind, sinceMs, calmSinceMs: undefined })
    return false
  }

  /** A lab that is well between two crashes stays in trouble until it has been well for the whole grace. */
  #calm(pod: PodFacts): void {
    const before = this.#trouble.get(pod.uid)
    if (before && before.calmSinceMs === undefined) {
      this.#trouble.set(pod.uid, { ...before, calmSinceMs: this.#options.clock.monotonicMs() })
    }
  }
}

function failure(message: string): Finding {
  return { outcome: 'failed', detail: '', events: [['error', message]] }
}
