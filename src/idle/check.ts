/** One check of one workload: read, look, decide; then a request to stop it, or the end of the check. */
import type { Clock } from '../base/clock.ts'
import { Deadline } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import type { Failpoint } from '../base/failpoint.ts'
import type { Log } from '../base/log.ts'
import { jittered } from '../base/loop.ts'
import type { IdleConfig, IdleRule, SourceName } from '../config/idle.ts'
import type { ActivityStore } from '../store/activity.ts'
import { takeMs } from '../store/due.ts'
import type { StopRequest, Taken } from '../store/idle.ts'
import { cpuFreshMs } from './cpu-usage.ts'
import { decide } from './decisions/decide.ts'
import type { Decision, Periods, Stop } from './decisions/decision.ts'
import { msOf } from './decisions/ends.ts'
import { ruleOf } from './decisions/rules.ts'
import { isStillDue, stampsAfter, timeOf, unreadable } from './decisions/stamps.ts'
import { isoOf, noticeWords, stopWords } from './decisions/words.ts'
import { type LookOptions, lookAt } from './look.ts'
import type { Look } from './looks/evidence.ts'
import type { Stamper } from './stamper.ts'
import type { Known, StopResult, WorkloadFacts, WorkloadOwner } from './workloads/workload.ts'

export interface CheckOptions {
  readonly idle: IdleConfig
  readonly store: Pick<ActivityStore, 'end'>
  readonly stamper: Pick<Stamper, 'write'>
  readonly clock: Clock
  readonly log: Log
  readonly failpoint: Failpoint
  readonly probe?: LookOptions['probe']
  /** Called after each request to stop. */
  readonly onStop: (facts: WorkloadFacts, stop: Stop, result: StopResult) => void
  /** Called when one would be stopped, if silence of this source proved something. */
  readonly onHeld: (source: SourceName) => void
}

/**
 * `seen`, `denied`, `unreachable`: what the look showed. `absent`: the watches show no pod; `operating`: an operation runs;
 * `blind`: the watches are silent; `late`: another replica has taken it since. These four wrote nothing.
 */
export type CheckResult = Look['kind'] | 'absent' | 'operating' | 'blind' | 'late'

/**
 * A stop is decided on a look that is no older. An answer may be as old as its question. Silence is
 * known at the end of the look, however long that took. Age needs no look.
 */
const freshLookMs = 2000
/**
 * Monotonic, since the taking was asked for: a look that begins later is left out. A replica that slept takes what its watches got
 * before for new, and may ask what another one asks by now. With the time of a probe this is the time of a taker.
 */
const beginMs = 10_000
/**
 * Monotonic, since the taking was asked for: nothing of a stop leaves later. So it lands before another replica takes the
 * workload, which may find it in use.
 */
const stopMs = takeMs - 5000
/** After a stop that something prevented, it is looked at again. */
const againMs = 5000
/** The longest pause between checks of what does not answer. */
export const slowestMs = 600_000

/** A look, and the decision on it. */
interface Seen {
  readonly facts: WorkloadFacts
  readonly known: Known
  readonly rule: IdleRule | undefined
  readonly decision: Decision
  /** Monotonic: the taking was asked for. */
  readonly askedMs: number
  /** Monotonic: the look began. */
  readonly beganMs: number
  /** Monotonic: since when something else may be true. */
  readonly trueMs: number
  /** Redis' clock. */
  readonly nowMs: number
}

export class Check {
  readonly #options: CheckOptions

  constructor(options: CheckOptions) {
    this.#options = options
  }

  /**
   * @param askedMs monotonic: the taking was asked for
   * @throws {RetryLater} {KubeError} {Fenced}: the workload is taken by somebody after 20 s
   */
  async run(owner: WorkloadOwner, taken: Taken, askedMs: number, signal: AbortSignal): Promise<CheckResult> {
    const { failpoint, clock } = this.#options
    const name = `${owner.kind}:${taken.id}`
    await failpoint('idle.taken', name)
    const facts = owner.facts(taken.id)
    if (!facts) return 'absent'
    const known = await owner.read(facts)
    if (!known) return 'operating'
    const { idle } = this.#options
    const rule = ruleOf(idle.rules, owner.kind, known.traits)
    const beganMs = clock.monotonicMs()
    const isInTime = () => clock.monotonicMs() - askedMs < beginMs
    const options = { ...this.#options, timeoutMs: msOf(idle.probeTimeoutSeconds), isInTime }
    const look = await lookAt(options, owner, facts, known, rule, signal)
    if (!look) return isInTime() ? 'blind' : 'late'
    const trueMs = look.kind === 'seen' ? beganMs : clock.monotonicMs()
    await failpoint('idle.looked', name)
    // Redis read its clock before its answer came: this is never later than its clock is now.
    const nowMs = Math.floor(known.read.nowMs + clock.monotonicMs() - beganMs)
    const decision = decide({
      ...{ read: known.read, podUid: facts.podUid, startedMs: facts.startedMs, nowMs, rule, look },
      wallMs: clock.wallMs(),
      unreported: owner.unreported,
      byHand: this.#byHand(facts),
      periods: this.#periods(),
    })
    if (decision.heldBy) this.#options.onHeld(decision.heldBy)
    const seen = { facts, known, rule, decision, askedMs, beganMs, trueMs, nowMs }
    const nextInMs = decision.stop ? await this.#stop(owner, taken, seen, decision.stop, signal) : decision.nextInMs
    if (nextInMs === undefined) return look.kind
    return (await this.#end(owner, taken, seen, nextInMs)) ? look.kind : 'late'
  }

  /** @returns milliseconds until the next check; undefined if its end is requested */
  async #stop(
    owner: WorkloadOwner,
    { id, score }: Taken,
    { facts, known, rule, decision, askedMs, beganMs, trueMs, nowMs }: Seen,
    stop: Stop,
    signal: AbortSignal,
  ): Promise<number | undefined> {
    const { idle, clock, failpoint, onStop } = this.#options
    const { kind } = owner
    const { activity, touches } = known.read
    // Redis knows nothing of this incarnation that the script could compare.
    if (!activity) return 1
    await failpoint('idle.stopping', `${kind}:${id}`)
    if (stop.why !== 'age' && clock.monotonicMs() - trueMs > freshLookMs) return againMs
    const limit = new Deadline(clock, Math.max(0, askedMs + stopMs - clock.monotonicMs()), signal)
    const result = await stopWithin(limit, known, {
      ...{ kind, id, score, touches, why: stop.why, podUid: facts.podUid },
      ...{ readLastMs: activity.lastMs, lastMs: decision.activity.lastMs },
      timeoutMs: stop.afterMs,
      warnMs: msOf(rule?.warnSeconds),
      expectedMs: Math.floor(known.read.nowMs + clock.monotonicMs() - beganMs),
      stopsPerMinute: idle.stopsPerMinute,
      words: stopWords(stop),
      data: JSON.stringify({ rule: stop.rule, why: stop.why, at: isoOf(nowMs) }),
    })
    onStop(facts, stop, result)
    if (result === 'requested') return undefined
    return result === 'held' ? this.#periods().checkMs : againMs
  }

  async #end(owner: WorkloadOwner, { id, score }: Taken, seen: Seen, nextInMs: number): Promise<boolean> {
    const { kind, stampPolicy: policy } = owner
    const { facts, known, rule, decision, nowMs } = seen
    const { activity, events, notice, state, eligibleMs = 0 } = decision
    const { op, read } = known
    const written = await this.#options.store.end({
      ...{ kind, id, score, activity, events, touches: read.touches, nextInMs: Math.ceil(nextInMs) },
      finding: { state, rule: rule?.name ?? '', eligibleMs },
      ...(notice && op !== undefined && { lab: { op, words: [noticeWords(kind, notice)] } }),
    })
    if (!written) return false
    const checked = { policy, startedMs: facts.startedMs, activity, nowMs, noticed: notice !== undefined }
    const patch = stampsAfter({ ...checked, now: facts.stamps })
    if (patch) this.#options.stamper.write(facts, patch, now => isStillDue({ ...checked, now }))
    return true
  }

  #byHand({ kind, id, stamps }: WorkloadFacts) {
    const bad = unreadable(stamps)
    if (bad.length > 0) this.#options.log.warn({ kind, id, annotations: bad }, 'annotations are no times by RFC 3339')
    return { lastMs: timeOf(stamps.lastActivity), keepMs: timeOf(stamps.keepUntil) }
  }

  /** Later by up to a twentieth, so that workloads that began together do not stay in step. */
  #periods(): Periods {
    const { checkPeriodSeconds, restPeriodSeconds, cpuPeriodSeconds } = this.#options.idle
    const spread = (seconds: number) => Math.ceil(jittered(msOf(seconds) * 1.025, 0.025))
    return {
      checkMs: spread(checkPeriodSeconds),
      restMs: spread(restPeriodSeconds),
      slowestMs,
      cpuMs: cpuFreshMs(cpuPeriodSeconds),
    }
  }
}

/** @throws {RetryLater} when the time is over: the next replica to take the workload looks at it anew, and decides */
async function stopWithin(limit: Deadline, known: Known, request: StopRequest): Promise<StopResult> {
  try {
    return await known.stop(request, limit)
  } catch (error) {
    if (error !== limit.signal.reason) throw error
    throw new RetryLater('the time for a check is over', undefined, { cause: error })
  } finally {
    limit.release()
  }
}
