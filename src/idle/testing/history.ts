/** Histories of one workload for tests: what it does, what each look shows of that, and a small reference of what may happen. */
import { type IdleConfig, type IdleRule, idle } from '../../config/idle.ts'
import type { Activity, ActivityRead } from '../../store/idle.ts'
import { decide } from '../decisions/decide.ts'
import type { DecideInput, Decision } from '../decisions/decision.ts'
import type { Look } from '../looks/evidence.ts'

export const periods = { checkMs: 60_000, restMs: 300_000, slowestMs: 600_000, cpuMs: 180_000 }

export const ruleWith = (rule: object): IdleRule =>
  (idle.parse({ rules: [{ name: 'r', ...rule }] }) satisfies IdleConfig).rules[0]!

export const idleSince = (ageMs?: number): Look => ({ kind: 'seen', busy: false, ageMs, source: 'kernels' })
export const busy: Look = { kind: 'seen', busy: true, ageMs: 0, source: 'kernels' }
export const unreachable: Look = { kind: 'unreachable', words: 'it does not answer' }

export type Step =
  | { readonly do: 'look'; readonly afterMs: number; readonly look: Look; readonly untold?: boolean }
  | { readonly do: 'touch' | 'newPod' | 'raiseFloor'; readonly afterMs: number }
  | { readonly do: 'keep'; readonly afterMs: number; readonly forMs: number }
  | { readonly do: 'rule'; readonly afterMs: number; readonly rule: IdleRule }
  | { readonly do: 'annotate'; readonly afterMs: number; readonly aheadMs: number }

/** The start of every history. */
export const startMs = Date.parse('2026-11-24T10:00:00Z')

export class History {
  nowMs = startMs
  rule: IdleRule
  activity: Activity | undefined
  /** All that a stop for idleness is measured by: evidence of activity, first sight, floor. */
  trueLastMs = startMs
  floorMs = 0
  podUid = 'pod-0'
  startedMs = startMs
  byHandMs: number | undefined
  /** The last warning that nothing has withdrawn. */
  warnedMs: number | undefined
  failingSinceMs: number | undefined
  readonly #keep = { untilMs: 0 }

  constructor(rule: IdleRule) {
    this.rule = rule
  }

  get keepMs(): number {
    return this.#keep.untilMs
  }

  /** @returns the decision of a look; undefined for other steps */
  step(step: Step): { readonly input: DecideInput; readonly decision: Decision } | undefined {
    this.nowMs += step.afterMs
    if (step.do === 'look') return this.look(step.look, step.untold)
    if (step.do === 'rule') this.rule = step.rule
    if (step.do === 'raiseFloor') this.floorMs = this.nowMs
    if (step.do === 'annotate') this.byHandMs = this.nowMs + step.aheadMs
    if (step.do === 'newPod') this.#beginAnew()
    // Before the first look at a pod, the store knows only of the one before.
    if (this.activity?.podUid !== this.podUid) return undefined
    if (step.do === 'touch') this.#touch()
    if (step.do === 'keep') {
      this.#keep.untilMs = this.nowMs + step.forMs
      this.activity = { ...this.activity, keepMs: this.#keep.untilMs }
    }
    return undefined
  }

  look(look: Look, untold = false, unreported: DecideInput['unreported'] = [], cpu?: ActivityRead['cpu']) {
    const read: ActivityRead = {
      activity: this.activity?.podUid === this.podUid ? this.activity : undefined,
      floorMs: this.floorMs,
      nowMs: this.nowMs,
      touches: 0,
      trafficIsUntold: untold,
      cpu,
    }
    const byHand = { lastMs: this.byHandMs, keepMs: undefined }
    const { podUid, startedMs, nowMs, rule } = this
    const input = { read, podUid, startedMs, wallMs: nowMs, nowMs, rule, look, unreported, byHand, periods }
    const decision = decide(input)
    this.#learn(input, decision)
    this.activity = decision.activity
    return { input, decision }
  }

  #learn({ read, look, byHand }: DecideInput, { notice }: Decision): void {
    if (!read.activity) this.trueLastMs = this.nowMs
    if (byHand.lastMs !== undefined && byHand.lastMs <= this.nowMs) this.#active(byHand.lastMs)
    if (look.kind === 'seen') {
      this.failingSinceMs = undefined
      if (look.busy) this.#active(this.nowMs)
      else if (look.ageMs !== undefined) this.#active(Math.min(this.nowMs, this.nowMs - look.ageMs))
    } else this.failingSinceMs ??= this.nowMs
    if (notice) this.warnedMs = notice.event === 'warning' ? this.nowMs : undefined
  }

  #active(atMs: number): void {
    this.trueLastMs = Math.max(this.trueLastMs, atMs)
  }

  /** As the store does it: a warning that activity follows is withdrawn. */
  #touch(): void {
    this.#active(this.nowMs)
    this.warnedMs = undefined
    this.activity = { ...this.activity!, lastMs: this.nowMs, warnedMs: 0, source: 'push' }
  }

  #beginAnew(): void {
    this.podUid = `pod-${this.nowMs}`
    this.startedMs = this.nowMs
    this.#keep.untilMs = 0
    this.byHandMs = undefined
    this.warnedMs = undefined
    this.failingSinceMs = undefined
  }
}
