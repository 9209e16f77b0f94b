/** Apps of a fleet that are stopped when nobody uses them, with gateways whose way to Redis can be cut. Time is moved in Redis. */
import type { ConfigInput } from '../../../dev/stack/config.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { Connection } from '../../../src/store/connection.ts'
import { TouchStore } from '../../../src/store/touches.ts'
import { TrafficStore, type Use } from '../../../src/store/traffic.ts'
import type { Trial } from '../attack/attack.ts'
import type { KubeAnswer } from '../cluster/kube.ts'
import { eventually } from '../cluster/world.ts'
import { TcpProxy } from '../network/proxy.ts'
import { AppFleet, type AppFleetOptions } from './fleet.ts'
import { openAsGateway } from './gateway-user.ts'

type IdleInput = NonNullable<ConfigInput['idle']>

/** Longer than any attack: an app is looked at again by itself when its time is over. */
export const timeoutMs = 3_600_000
const flushMs = 300

/** What a replica said of a stop that it wanted. */
export interface AppStop {
  readonly id: string
  readonly podUid: string
  readonly result: 'requested' | 'changed' | 'held' | 'clock'
}

/** A gateway that tells all the time, unless its way to Redis is cut. */
export interface TestGateway {
  readonly traffic: TrafficStore
  /** Used with the next flush. */
  use(...ids: string[]): void
  /** Resolves with a flush that began after the call. */
  flushed(): Promise<void>
  /** Its connections stay open, and nothing passes. */
  cut(): Promise<void>
  mend(): Promise<void>
}

export class IdleApps {
  readonly fleet: AppFleet

  private constructor(fleet: AppFleet) {
    this.fleet = fleet
  }

  /** One rule for all, by traffic. Nothing is looked at but what a test makes due. */
  static async start(idle: IdleInput = {}, options: AppFleetOptions = {}): Promise<IdleApps> {
    const rule = { name: 'short', match: { kinds: ['app' as const] }, sources: ['traffic' as const] }
    const rules = [{ ...rule, idleTimeoutSeconds: timeoutMs / 1_000, warnSeconds: 0 }]
    const more: Partial<ConfigInput> = {
      ...options.more,
      idle: {
        ...{ enabled: true, checkPeriodSeconds: 3_600, restPeriodSeconds: 3_600, rules },
        // Time is moved in Redis alone: an annotation would say that it was used just now.
        ...{ annotations: { app: 'off' as const }, ...idle },
      },
    }
    return new IdleApps(await AppFleet.start({ ...options, more }))
  }

  stop(): Promise<void> {
    return this.fleet.stop()
  }

  /** Makes apps that run, were looked at once, and whose time is over by now. */
  async idle(count: number, prefix: string): Promise<readonly string[]> {
    const ids = Array.from({ length: count }, (_, i) => `${prefix}-${i}`)
    await Promise.all(ids.map(id => this.fleet.make(id)))
    await Promise.all(ids.map(id => this.known(id)))
    return ids
  }

  /** Waits until an app runs and was looked at once, and lets its time pass. */
  async known(id: string): Promise<void> {
    await this.fleet.phase(id, 'Ready', 'a', 60_000)
    await eventually(`${id} is enrolled`, async () => (await this.score(id)) !== null, 30_000)
    await this.check(id)
    await this.pass(id, 2 * timeoutMs)
  }

  /** Has it looked at, and waits for the end of that. */
  async check(id: string): Promise<void> {
    const ended = await this.checking(id)
    await this.makeDue(id)
    await ended()
  }

  /** @returns what waits for the end of the next check of an app: it was judged, or is not looked at any more */
  async checking(id: string): Promise<() => Promise<void>> {
    const token = () => this.fleet.redisClient.hget(this.fleet.keys.activity('app', id), 'token')
    const [before, stops] = [await token(), this.stops(id).length]
    const isOver = async () =>
      (await token()) !== before || this.stops(id).length > stops || (await this.score(id)) === null
    return async () => {
      await eventually(`the end of a check of ${id}`, isOver, 30_000)
    }
  }

  async makeDue(id: string): Promise<void> {
    const { redisClient, keys } = this.fleet
    await redisClient.zrem(keys.dueSlow('app'), id)
    await redisClient.zadd(keys.due('app'), 1, id)
  }

  async score(id: string): Promise<string | null> {
    const { redisClient, keys } = this.fleet
    return (await redisClient.zscore(keys.due('app'), id)) ?? (await redisClient.zscore(keys.dueSlow('app'), id))
  }

  /** Lets time pass for what is known of an app, and for the floor; not for gateways. */
  async pass(id: string, ms: number): Promise<void> {
    const { redisClient, keys } = this.fleet
    const moments = ['since', 'last', 'checked', 'touched']
    await moveBack(redisClient, keys.activity('app', id), moments, ms)
    const floor = await redisClient.hget(keys.activityFloor, 'floor')
    const [seconds] = await redisClient.time()
    if (Number(floor) > Number(seconds) * 1_000 - ms) await moveBack(redisClient, keys.activityFloor, ['floor'], ms)
  }

  /** Lets time pass since gateways reported. */
  async passForGateways(ms: number): Promise<void> {
    const { redisClient, keys } = this.fleet
    const key = keys.activityFlushed('app')
    await moveBack(redisClient, key, await redisClient.hkeys(key), ms)
  }

  /** What the last check of an app found. */
  state(id: string): Promise<string | null> {
    return this.fleet.redisClient.hget(this.fleet.keys.activity('app', id), 'state')
  }

  stops(id?: string): readonly AppStop[] {
    return this.fleet
      .log()
      .filter(({ msg, kind }) => kind === 'app' && String(msg).startsWith('a workload is '))
      .filter(line => id === undefined || line.id === id)
  }

  app(id: string): Promise<KubeAnswer['body']> {
    return this.fleet.read(id)
  }

  async isStopped(id: string): Promise<boolean> {
    return (await this.app(id))?.spec.stop === true
  }

  /** A gateway that has joined, and tells until the end of the attack. */
  async gateway(trial: Trial, name: string): Promise<TestGateway> {
    const url = this.fleet.redis.programUrl
    const proxy = await TcpProxy.before(url)
    await proxy.open()
    const through = new URL(url)
    through.host = `127.0.0.1:${proxy.port}`
    const connection: Connection = await openAsGateway(through.href, this.fleet.name, { withoutEval: false })
    const touches = new TouchStore(connection, this.fleet.keys)
    const traffic = new TrafficStore({ touches, clock: systemClock, gateway: name, kinds: ['app'] })
    await traffic.join()
    const telling = tell(traffic)
    trial.context.onTestFinished(async () => {
      telling.stop()
      // Else all others would wait for what it has to tell.
      await this.fleet.redisClient.hdel(this.fleet.keys.activityFlushed('app'), name)
      await proxy.shut()
      await connection.close()
    })
    return {
      ...{ traffic, use: telling.use, flushed: telling.flushed },
      cut: async () => proxy.silence(),
      mend: async () => proxy.resume(),
    }
  }
}

export async function moveBack(redis: AppFleet['redisClient'], key: string, fields: readonly string[], ms: number) {
  if (fields.length === 0) return
  const values = await redis.hmget(key, ...fields)
  const moved = fields.flatMap((field, i) => (Number(values[i]) > 0 ? [field, Number(values[i]) - ms] : []))
  if (moved.length > 0) await redis.hset(key, ...moved)
}

/** Flushes all the time. Uses of a flush that fails go with the next one. */
function tell(traffic: TrafficStore) {
  let uses: Use[] = []
  let rounds = 0
  const ending = new AbortController()
  const loop = async () => {
    while (!ending.signal.aborted) {
      const some = uses
      uses = []
      try {
        await traffic.flush(some)
        rounds += 1
      } catch {
        uses = [...some, ...uses]
      }
      await systemClock.sleep(flushMs, ending.signal).catch(() => {})
    }
  }
  void loop()
  return {
    stop: () => ending.abort(),
    use: (...ids: string[]) => {
      const atMs = systemClock.monotonicMs()
      uses.push(...ids.map(id => ({ kind: 'app' as const, id, atMs })))
    },
    flushed: async () => {
      const before = rounds
      await eventually('a flush', async () => rounds > before + 1, 30_000)
    },
  }
}
