/** The sweep and the compare on a real Redis, with a cloud that lags, forgets and lies. */
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { FakeCloud, type FakeCloudOptions } from '../../../src/clouds/testing/fake-driver.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { Comparer } from '../../../src/pool/compare.ts'
import { Sweeper } from '../../../src/pool/sweep.ts'
import { Tagging } from '../../../src/pool/tagging.ts'
import { formerSet, names, ourSet, tagsOf } from '../../../src/pool/testing/site.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { useDispatch } from '../../kit/dispatch/store.ts'
import { CloudKeepers } from '../../kit/pool/cloud-keepers.ts'
import { offered, type ReplicaOptions, replicaOf } from '../../kit/pool/scheduler.ts'
import { ttlMs } from '../../kit/store/store.ts'

const patience = { timeout: 30_000, interval: 10 }
/** Short pauses: where three of ten calls fail, five failures in a row would pause the sweep for half a minute. */
const hasty: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 100), signal) }
const foreign = [{}, { [names.instanceSetId]: 'theirs' }, { [names.instanceSetId]: `${ourSet}2`, [names.intent]: 'a1' }]

describe('the pool', () => {
  const dispatch = useDispatch()

  function siteOf(options: Partial<FakeCloudOptions> = {}) {
    const cloud = new FakeCloud({ nowMs: () => Date.now(), setTag: names.instanceSetId, ...options })
    const driver = cloud.driver([ourSet, formerSet])
    const others = foreign.map(tags => cloud.add(tags))
    const { store, machines, compares, owners } = dispatch()
    const { keys, tasks, connection } = store
    const leases = new Leases({
      ...{ redis: connection.commands, owners, tasks, clock: systemClock, ttlMs },
      keyOf: name => keys.dispatch.machines.lease(name),
    })
    const parts = {
      ...{ machines, leases, clock: hasty, log: silentLogger(), lifeMs: 60_000, patienceMs: 5_000 },
      tagging: new Tagging({
        names,
        sets: [ourSet, formerSet],
        types: new Map(offered.map(type => [type.name, type])),
      }),
      sealer: { seal: (text: string) => `sealed ${text}` },
      cloud: { call: <T>(_: string, __: unknown, ask: (of: typeof driver) => Promise<T>) => ask(driver) },
      onAdopted: () => {},
      failpoint: () => {},
    }
    const sweeper = new Sweeper({
      ...{
        ...parts,
        ended: dispatch().ended,
        lease: keys.dispatch.sweepLease,
        intervalMs: 50,
        bootingMs: 250,
        tombstoneMs: 60_000,
      },
      onSwept: () => {},
    })
    const comparer = new Comparer({ ...parts, compares, holdMs: 1, lagMs: options.lagMs ?? 0, onCompared: () => {} })
    const keepers = new CloudKeepers({ dispatch: dispatch(), driver, tagsOf: name => tagsOf(name) })
    const stop = async () => {
      await Promise.all([sweeper.stop(), comparer.stop()])
      await leases.close()
    }
    const foreignAre = () => {
      expect(cloud.changes().filter(({ id }) => others.includes(id))).toEqual([])
      expect(others.map(id => cloud.stateOf(id))).toEqual(others.map(() => 'running'))
    }
    const ours = () => cloud.live.filter(id => !others.includes(id))
    return { cloud, driver, sweeper, comparer, keepers, stop, foreignAre, ours }
  }

  async function withSchedulers(options: ReplicaOptions[], work: () => Promise<void>): Promise<void> {
    const { store } = dispatch()
    await store.redis.del(store.keys.dispatch.scheduleLease)
    const replicas = options.map(each => replicaOf(dispatch(), each))
    await work().finally(() => Promise.all(replicas.map(({ stop }) => stop())))
  }

  test('leaves no machine and no resource behind when answers are lost, tokens are not honoured and destroys do nothing', async () => {
    const faults = { lostReply: 0.2, lostRequest: 0.1, idleYes: 0.3 }
    const site = siteOf({ seed: 3, lagMs: 150, honoursTokens: false, bootMs: 20, endMs: 20, faults })
    const { cloud, sweeper, keepers } = site
    const uuids: string[] = []
    const rules = { maxInstances: 40, maxConcurrentInstanceCreateOps: 4, timeoutIdleMs: 0 }
    /** Some intent has made two machines: a reply was lost. */
    const hasStruck = () => {
      const created = cloud.journal.filter(({ operation }) => operation === 'create')
      return created.length > new Set(created.map(({ token }) => token)).size
    }
    sweeper.start()
    await withSchedulers([{ rules }, { rules }, { rules }], async () => {
      const left = async () => {
        await keepers.step()
        return {
          machines: site.ours(),
          resources: [...cloud.resources.keys()],
          records: (await dispatch().machines.list()).length,
        }
      }
      const states = async () =>
        new Set(await Promise.all(uuids.map(async uuid => (await dispatch().found(uuid)).state)))
      const rest = async () => ({ ...(await left()), states: await states() })
      const empty = { machines: [], resources: [], records: 0, states: new Set(['Complete']) }
      while (!hasStruck()) {
        uuids.push(...(await Promise.all(Array.from({ length: 8 }, () => dispatch().accept()))))
        await expect.poll(rest, patience).toEqual(empty)
      }
    })
    await site.stop()
    expect(keepers.starts.toSorted()).toEqual(uuids.toSorted())
    site.foreignAre()
  })

  test('adopts all machines when Redis was emptied, keeps what is held, and ends the others when they are idle', async () => {
    const site = siteOf({ bootMs: 0 })
    const { cloud, comparer, keepers, sweeper } = site
    const names_ = Array.from({ length: 5 }, (_, i) => (Date.now() * 1000 - 1_000_000 + i).toString(36))
    const [held] = names_.map((name, i) =>
      cloud.add(tagsOf(name, i === 0 ? { [names.idleBehavior]: 'hold' } : {}), 't.small'),
    )
    const { redis, keys } = dispatch().store
    await redis.del(...(await redis.keys(`${keys.dispatch.generation.replace('dispatch-generation', '')}*`)))
    await dispatch().store.compare()
    comparer.start()
    await expect.poll(() => dispatch().machines.compared(), patience).toBe(true)
    expect((await dispatch().machines.list()).map(({ name }) => name).toSorted()).toEqual(names_.toSorted())
    expect(await dispatch().machines.unasked()).toHaveLength(5)
    sweeper.start()
    await withSchedulers([{ rules: { timeoutIdleMs: 0 } }], async () => {
      const rest = async () => {
        await keepers.step()
        return [site.ours(), (await dispatch().machines.list()).map(({ idleBehavior }) => idleBehavior)]
      }
      await expect.poll(rest, patience).toEqual([[held], ['hold']])
    })
    await site.stop()
    expect(await dispatch().machines.unasked()).toEqual([])
    site.foreignAre()
  })

  test('assigns nothing that Redis had until all machines were asked, when its data went back', async () => {
    const site = siteOf({ bootMs: 0 })
    const { cloud, comparer, keepers } = site
    const old = await dispatch().accept()
    cloud.add(tagsOf((Date.now() * 1000).toString(36)))
    await dispatch().store.redis.del(dispatch().store.keys.dispatch.generation)
    comparer.start()
    await expect.poll(() => dispatch().machines.compared(), patience).toBe(true)
    const state = async (uuid: string) => (await dispatch().found(uuid)).state
    await withSchedulers([{}], async () => {
      const young = await dispatch().accept()
      await expect.poll(() => state(young), patience).toBe('Locked')
      expect(await state(old)).toBe('Queued')
      expect((await dispatch().found(old)).status).toMatch(/after a loss of data/)
      await keepers.step()
      await expect.poll(() => state(old), patience).not.toBe('Queued')
    })
    await site.stop()
  })
})
