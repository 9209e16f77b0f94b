/** A world for tests of the engine: workloads with pods, and a Redis in memory that keeps the contract of the store. */
import { Registry } from 'prom-client'
import { ManualClock } from '../../../test/kit/clock.ts'
import { keepingLog } from '../../../test/kit/log.ts'
import { RetryLater } from '../../base/errors.ts'
import { idle } from '../../config/idle.ts'
import type {
  Activity,
  ActivityEvent,
  ActivityRead,
  CheckEnd,
  Lane,
  StopRequest,
  Taken,
  TakenNow,
} from '../../store/idle.ts'
import { createIdleMetrics } from '../../telemetry/idle-metrics.ts'
import { IdleEngine } from '../engine.ts'
import type { Look } from '../looks/evidence.ts'
import type { ProbeTarget } from '../looks/questions.ts'
import type { Known, StampPatch, StopResult, WorkloadFacts, WorkloadOwner } from '../workloads/workload.ts'
import { startMs } from './history.ts'

const takeMs = 20_000

/** A pod of a workload, and what its server shows. */
export interface Pod {
  uid: string
  address: string
  mayBeAsked: boolean
  /** How its server answers; `hang` never does. */
  answer: (nowMs: number) => Look | 'hang'
}

interface Row {
  lane: Lane
  /** µs, unique. */
  score: number
}

export class IdleWorld implements WorkloadOwner {
  readonly kind = 'lab'
  stampPolicy: WorkloadOwner['stampPolicy'] = 'onchange'
  unreported: WorkloadOwner['unreported'] = ['traffic']
  readonly clock = new ManualClock({ nowMs: startMs })
  readonly pods = new Map<string, Pod>()
  /** Redis. */
  readonly due = new Map<string, Row>()
  readonly known = new Map<string, Activity>()
  readonly touches = new Map<string, number>()
  floorMs = 0
  redisAheadMs = 0
  redisIsAway = false
  trafficIsUntold = false
  /** What happened, in order. */
  readonly asked: { readonly id: string; readonly atMs: number; readonly target: ProbeTarget }[] = []
  readonly ended: CheckEnd[] = []
  readonly refused: CheckEnd[] = []
  readonly events: (ActivityEvent & { readonly id: string; readonly atMs: number })[] = []
  readonly stops: (StopRequest & { readonly atMs: number })[] = []
  readonly stamped: { readonly id: string; readonly patch: StampPatch }[] = []
  silence = 0
  /** Called before the script that stops, as a person who comes back does. */
  beforeStop: (request: StopRequest) => StopResult | undefined = () => undefined
  readonly failpoints = new Map<string, (id: string) => Promise<void> | void>()
  readonly log = keepingLog()
  #draws = 0
  #hanging = 0

  engine(
    config: object,
    metrics = createIdleMetrics(new Registry(), { kinds: [], census: async () => undefined }),
  ): IdleEngine {
    return new IdleEngine({
      ...{
        idle: idle.parse(config),
        owners: [this],
        due: this,
        activity: this,
        metrics,
        log: this.log,
        clock: this.clock,
      },
      failpoint: (name, subject = '') => this.failpoints.get(name)?.(subject),
      probe: (_clock, target, { signal, timeoutMs }) => this.#probe(target, timeoutMs, signal),
    })
  }

  /** Adds a workload that is due at once. */
  add(id: string, answer: Pod['answer']): Pod {
    const pod = { uid: `${id}-1`, address: `10.0.0.${this.pods.size + 1}`, mayBeAsked: true, answer }
    this.pods.set(id, pod)
    this.due.set(id, { lane: 'fast', score: this.#score(0) })
    return pod
  }

  /** Time of Redis. */
  get nowMs(): number {
    return this.clock.wallMs() + this.redisAheadMs
  }

  get hanging(): number {
    return this.#hanging
  }

  /** Lets time pass, in steps, each of which ends when all that it woke is done. */
  async pass(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(Math.min(stepMs, ms - passed))
      for (let turn = 0; turn < 12; turn++) await Promise.resolve()
      await new Promise(resolve => setImmediate(resolve))
    }
  }

  // What the watches show.

  facts(id: string): WorkloadFacts | undefined {
    const pod = this.pods.get(id)
    if (!pod) return undefined
    return { kind: 'lab', id, podUid: pod.uid, mayBeAsked: pod.mayBeAsked, startedMs: startMs, stamps: {} }
  }

  silenceMs(): number {
    return this.silence
  }

  async stamp({ id }: WorkloadFacts, patch: StampPatch): Promise<void> {
    this.stamped.push({ id, patch })
  }

  async read({ id, podUid }: WorkloadFacts): Promise<Known | undefined> {
    this.#reach()
    const activity = this.known.get(id)
    const read: ActivityRead = {
      activity: activity?.podUid === podUid ? activity : undefined,
      ...{
        floorMs: this.floorMs,
        nowMs: this.nowMs,
        touches: this.touches.get(id) ?? 0,
        trafficIsUntold: this.trafficIsUntold,
      },
    }
    return {
      read,
      traits: { user: id },
      op: 1,
      target: async () => ({
        address: this.pods.get(id)?.address ?? '',
        port: 8888,
        prefix: '/',
        credential: 'secret',
      }),
      stop: async (request, limit) => {
        await this.failpoints.get('idle.requested')?.(request.id)
        // As it is sent.
        limit.check()
        return this.#stop(request)
      },
    }
  }

  // What the scripts do.

  async take(
    _kind: string,
    lane: Lane,
    { limit, farthestMs }: { limit: number; farthestMs: number },
  ): Promise<TakenNow> {
    this.#reach()
    const { nowMs } = this
    const rows = [...this.due].filter(([, row]) => row.lane === lane).toSorted(([, a], [, b]) => a.score - b.score)
    const isDue = ([, { score }]: readonly [string, Row]) =>
      score <= nowMs * 1000 + 999 || score > (nowMs + farthestMs) * 1000
    const taken = rows.filter(isDue).slice(0, limit)
    const answer = taken.map(([id, row]): Taken => {
      const lateMs = nowMs - row.score / 1000
      row.score = this.#score(takeMs)
      return { id, score: String(row.score), lateMs }
    })
    const next = rows.find(row => !isDue(row))
    return { taken: answer, nextInMs: next && next[1].score / 1000 - nowMs, nowMs }
  }

  async end(end: CheckEnd): Promise<boolean> {
    this.#reach()
    const row = this.due.get(end.id)
    if (!row || String(row.score) !== end.score) {
      this.refused.push(end)
      return false
    }
    this.ended.push(end)
    this.known.set(end.id, this.#merged(end))
    row.lane = end.activity.failures > 0 ? 'slow' : 'fast'
    row.score = this.#score(end.nextInMs)
    for (const event of end.events) this.events.push({ ...event, id: end.id, atMs: this.nowMs })
    return true
  }

  async raiseFloor(): Promise<void> {
    this.floorMs = this.nowMs
  }

  #stop(request: StopRequest): StopResult {
    const refusal = this.beforeStop(request)
    if (refusal) return refusal
    const { id, readLastMs, touches } = request
    const activity = this.known.get(id)
    const isSame = activity?.lastMs === readLastMs && touches === (this.touches.get(id) ?? 0)
    if (!isSame || String(this.due.get(id)?.score) !== request.score) return 'changed'
    this.stops.push({ ...request, atMs: this.nowMs })
    this.due.delete(id)
    return 'requested'
  }

  async #probe(target: ProbeTarget, timeoutMs: number, signal: AbortSignal): Promise<Look> {
    const [id, pod] = [...this.pods].find(([, { address }]) => address === target.address) ?? []
    if (!pod || !id) return { kind: 'unreachable', words: 'nothing has this address' }
    this.asked.push({ id, atMs: this.nowMs, target })
    const answer = pod.answer(this.nowMs)
    if (answer !== 'hang') return answer
    this.#hanging += 1
    await this.clock.sleep(timeoutMs, signal).finally(() => {
      this.#hanging -= 1
    })
    return { kind: 'unreachable', words: `no answer within ${timeoutMs} ms` }
  }

  /** Somebody may have come since the reading. A warning counts from when it is given. */
  #merged({ id, touches, activity, events }: CheckEnd): Activity {
    const now = this.known.get(id)
    const isWarned = events.some(({ event }) => event === 'warning')
    const told = isWarned ? { ...activity, warnedMs: this.nowMs } : activity
    if (!now || touches === (this.touches.get(id) ?? 0)) return told
    return { ...activity, lastMs: Math.max(now.lastMs, activity.lastMs), warnedMs: 0 }
  }

  #reach(): void {
    if (this.redisIsAway) throw new RetryLater('Redis does not answer')
  }

  #score(inMs: number): number {
    this.#draws += 1
    return Math.round((this.nowMs + inMs) * 1000) + (this.#draws % 1000)
  }
}
