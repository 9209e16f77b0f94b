/** The idle engine's part of the store, with workloads whose time has passed already. */
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { WorkloadKind } from '../../../src/config/idle.ts'
import { ActivityStore } from '../../../src/store/activity.ts'
import { DueStore } from '../../../src/store/due.ts'
import type {
  Activity,
  ActivityRead,
  CheckEnd,
  CullRequest,
  Lane,
  StopRequest,
  Taken,
} from '../../../src/store/idle.ts'
import { TouchStore } from '../../../src/store/touches.ts'
import { TrafficStore } from '../../../src/store/traffic.ts'
import { type Store, useStore as storeOf } from './store.ts'

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
/** The UID of a pod as `Store.run` gives it to a lab. */
export const podUid = 'pod-uid'
export const farthestMs = 20 * minuteMs

const moments = ['since', 'last', 'checked', 'warned', 'unreachable', 'touched', 'keep']

export const activity = (more: Partial<Activity> = {}): Activity => ({
  ...{ podUid, sinceMs: 0, lastMs: 0, source: 'kernels', checkedMs: 0, warnedMs: 0, keepMs: 0, failures: 0 },
  ...{ unreachableMs: 0, toldMs: 0, stoppingMs: 0, stoppedMs: 0, stopWords: '', readings: {} },
  ...more,
})

export class Idle {
  readonly store: Store
  readonly due: DueStore
  readonly activity: ActivityStore
  readonly touches: TouchStore

  constructor(store: Store) {
    this.store = store
    this.due = new DueStore(store.connection, store.keys)
    this.activity = new ActivityStore(store.connection, store.keys)
    this.touches = new TouchStore(store.connection, store.keys)
  }

  /** Redis' clock. */
  async nowMs(): Promise<number> {
    const [seconds, us] = await this.store.redis.time()
    return Number(seconds) * 1000 + Math.floor(Number(us) / 1000)
  }

  /** Takes one workload, whenever it is due. */
  async take(kind: WorkloadKind, id: string): Promise<Taken> {
    const { keys, redis } = this.store
    const isSlow = (await redis.zscore(keys.dueSlow(kind), id)) !== null
    const lane: Lane = isSlow ? 'slow' : 'fast'
    await redis.zadd(isSlow ? keys.dueSlow(kind) : keys.due(kind), 1, id)
    const { taken } = await this.due.take(kind, lane, { limit: 1, farthestMs })
    return taken[0]!
  }

  end(kind: WorkloadKind, { id, score }: Taken, more: Partial<CheckEnd> = {}): Promise<boolean> {
    return this.activity.end({
      ...{ kind, id, score, activity: activity(), touches: 0, nextInMs: minuteMs, events: [] },
      ...{ finding: { state: 'active', rule: 'short', eligibleMs: 0 } },
      ...more,
    })
  }

  /** One whole check of a workload. */
  async check(kind: WorkloadKind, id: string, more: Partial<CheckEnd> = {}): Promise<void> {
    const taken = await this.take(kind, id)
    const { touches } = await this.activity.read(kind, id, podUid)
    if (!(await this.end(kind, taken, { touches, ...more }))) throw new Error(`the check of ${id} was refused`)
  }

  /** Lets time pass for what is known of a workload, and for the floor. */
  async pass(kind: WorkloadKind, id: string, ms: number): Promise<void> {
    const { keys } = this.store
    await this.#moveBack(keys.activity(kind, id), moments, ms)
    await this.#moveBack(keys.activityFloor, ['floor'], ms)
  }

  async #moveBack(key: string, fields: readonly string[], ms: number): Promise<void> {
    const values = await this.store.redis.hmget(key, ...fields)
    const moved = fields.flatMap((field, i) => (Number(values[i]) > 0 ? [field, Number(values[i]) - ms] : []))
    if (moved.length > 0) await this.store.redis.hset(key, ...moved)
  }

  known(kind: WorkloadKind, id: string): Promise<Record<string, string>> {
    return this.store.redis.hgetall(this.store.keys.activity(kind, id))
  }

  /** A lab that was checked, warned, and is idle for two hours by now. @returns its op */
  async idleLab(user: string): Promise<number> {
    const op = await this.store.run(user, podUid)
    await this.due.musterLabs(0)
    const now = await this.nowMs()
    await this.check('lab', user, { activity: activity({ sinceMs: now, lastMs: now, warnedMs: now }) })
    await this.pass('lab', user, 2 * hourMs)
    return op
  }

  /** Looks at a lab, and asks for its stop as the engine does. */
  async askFor(user: string, more: Partial<CullRequest> = {}): Promise<CullRequest> {
    const { score } = await this.take('lab', user)
    const read = await this.activity.readLab(user, podUid)
    const ask = this.ask(user, score, read)
    return { ...ask, op: read.lab!.op, timeLimitMs: minuteMs, ...more }
  }

  ask(id: string, score: string, { activity, touches, nowMs }: ActivityRead): Omit<StopRequest, 'kind'> {
    const lastMs = activity?.lastMs ?? 0
    return {
      ...{
        id,
        podUid,
        score,
        lastMs,
        readLastMs: lastMs,
        touches,
        why: 'idle',
        timeoutMs: hourMs,
        warnMs: 10 * minuteMs,
      },
      ...{
        expectedMs: nowMs,
        stopsPerMinute: 20,
        words: 'stopped after 60 min without activity',
        data: '{"rule":"a"}',
      },
    }
  }

  /** A gateway of apps, with a clock of its own. */
  gateway(name: string, clock: Pick<Clock, 'monotonicMs'> = systemClock): TrafficStore {
    return new TrafficStore({ touches: this.touches, clock, gateway: name, kinds: ['app'] })
  }

  /** All events of workloads, as `event id`. */
  async told(): Promise<string[]> {
    const { events } = await this.activity.readEvents('0-0', 1000)
    return events.map(({ event, workload }) => `${event} ${workload}`)
  }
}

/** As `useStore`, with the idle engine's part. */
export function useIdle(): () => Idle {
  const store = storeOf()
  return () => new Idle(store())
}
