/** The idle engine of one process: its lanes, the muster of labs, and the annotations. Nothing of it is in memory alone. */
import type { Clock } from '../base/clock.ts'
import type { Failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import type { IdleConfig } from '../config/idle.ts'
import { stampOf, stamps } from '../kube/labels.ts'
import type { ActivityStore } from '../store/activity.ts'
import type { DueStore } from '../store/due.ts'
import type { Lane as LaneName } from '../store/idle.ts'
import type { IdleMetrics } from '../telemetry/idle-metrics.ts'
import { Check, type CheckOptions, type CheckResult, slowestMs } from './check.ts'
import { Clocks } from './clocks.ts'
import type { Stop } from './decisions/decision.ts'
import { msOf } from './decisions/ends.ts'
import { Lane } from './lane.ts'
import { Stamper } from './stamper.ts'
import type { StopResult, WorkloadFacts, WorkloadOwner } from './workloads/workload.ts'

export interface IdleEngineOptions {
  readonly idle: IdleConfig
  readonly owners: readonly WorkloadOwner[]
  readonly due: Pick<DueStore, 'take'>
  readonly activity: Pick<ActivityStore, 'end' | 'raiseFloor'>
  readonly metrics: IdleMetrics
  readonly clock: Clock
  readonly log: Log
  readonly failpoint: Failpoint
  /** Only of tests: asks a workload. */
  readonly probe?: CheckOptions['probe']
}

export class IdleEngine {
  readonly #options: IdleEngineOptions
  readonly #stamper: Stamper
  readonly #lanes: readonly Lane[]

  constructor(options: IdleEngineOptions) {
    const { idle, owners, due, activity, clock, log } = options
    this.#options = options
    this.#stamper = new Stamper({ owners, perSecond: idle.stampsPerSecond, clock, log })
    const check = new Check({
      ...options,
      store: activity,
      stamper: this.#stamper,
      onStop: (facts, stop, result) => this.#onStop(facts, stop, result),
      onHeld: cause => options.metrics.holds.inc({ cause }),
    })
    const clocks = new Clocks({ clock, onJump: byMs => this.#onJump(byMs) })
    const lane = (name: LaneName, places: number) =>
      new Lane({
        ...{ name, places, owners, store: due, clocks, clock, log },
        farthestMs: farthestMs(idle),
        check: (owner, taken, askedMs, signal) => check.run(owner, taken, askedMs, signal),
        onChecked: (owner, taken, result, seconds) => this.#onChecked(owner.kind, name, taken.lateMs, result, seconds),
      })
    this.#lanes = [lane('fast', idle.room), lane('slow', idle.slowRoom)]
  }

  /** Checks under way. */
  get checking(): number {
    return this.#lanes.reduce((sum, { taken }) => sum + taken, 0)
  }

  start(): void {
    this.#stamper.start()
    for (const lane of this.#lanes) lane.start()
  }

  /** Writes until when a workload is kept on request, before its next check does. `undefined`: no longer. */
  stampKeep(facts: WorkloadFacts, untilMs: number | undefined): void {
    const policy = this.#options.owners.find(({ kind }) => kind === facts.kind)?.stampPolicy
    const patch = { [stamps.keepUntil]: untilMs === undefined ? null : stampOf(untilMs) }
    if (policy !== undefined && policy !== 'off') this.#stamper.write(facts, patch)
  }

  /** Takes nothing more, and gives up the checks under way: another replica takes what they were about. */
  async stop(): Promise<void> {
    await Promise.all([...this.#lanes.map(lane => lane.stop()), this.#stamper.stop()])
  }

  #onChecked(kind: string, lane: LaneName, lateMs: number, result: CheckResult | 'failed', seconds: number): void {
    const { checks, checkDuration, checkLateness, holds } = this.#options.metrics
    checks.inc({ kind, result })
    checkDuration.observe({ kind }, seconds)
    checkLateness.observe({ kind, lane }, Math.max(0, lateMs) / 1000)
    if (result === 'blind') holds.inc({ cause: 'watch' })
  }

  #onStop({ kind, id, podUid }: WorkloadFacts, { why, rule }: Stop, result: StopResult): void {
    const { metrics, log } = this.#options
    metrics.stops.inc({ kind, reason: why, result })
    if (result === 'held') metrics.holds.inc({ cause: 'fuse' })
    if (result === 'clock') metrics.holds.inc({ cause: 'clock' })
    const fields = { kind, id, podUid, why, rule, result }
    if (result === 'requested') log.info(fields, 'a workload is stopped')
    else if (result === 'changed') log.info(fields, 'a workload is not stopped, since it changed')
    else log.warn(fields, 'a workload is not stopped for now')
  }

  async #onJump(byMs: number): Promise<void> {
    const { activity, metrics, log } = this.#options
    metrics.holds.inc({ cause: 'clock' })
    log.warn({ byMs: Math.round(byMs) }, 'the clock of Redis was stepped: every idle clock begins anew')
    await activity.raiseFloor()
  }
}

/** Nothing is due later than after its period, with what is added to it. */
const farthestMs = ({ checkPeriodSeconds, restPeriodSeconds }: IdleConfig): number =>
  2 * Math.max(slowestMs, msOf(checkPeriodSeconds), msOf(restPeriodSeconds))
