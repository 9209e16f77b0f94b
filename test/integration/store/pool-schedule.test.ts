/** The scheduler on a real Redis: what it writes, and that one replica at a time decides. */
import { describe, expect, test } from 'vitest'
import type { Decision } from '../../../src/store/dispatch/scheduling.ts'
import { shape, useDispatch } from '../../kit/dispatch/store.ts'
import { Keepers, type Replica, type ReplicaOptions, replicaOf } from '../../kit/pool/scheduler.ts'

describe('the scheduler', () => {
  const dispatch = useDispatch()
  const poll = { timeout: 10_000, interval: 10 }

  /** The test's own lease would keep replicas from theirs. */
  async function using(options: ReplicaOptions[], work: (replicas: Replica[]) => Promise<void>): Promise<void> {
    const { store } = dispatch()
    await store.redis.del(store.keys.dispatch.scheduleLease)
    const replicas = options.map(each => replicaOf(dispatch(), each))
    try {
      await work(replicas)
    } finally {
      await Promise.all(replicas.map(({ stop }) => stop()))
    }
  }

  const states = async (uuids: readonly string[]) =>
    Promise.all(uuids.map(async uuid => (await dispatch().found(uuid)).state))

  test('creates a machine for a container that comes, within a moment of the ring', async () => {
    await using([{}], async ([replica]) => {
      await expect.poll(() => replica!.passes.length, poll).toBeGreaterThan(0)
      const uuid = await dispatch().accept()
      await expect.poll(() => states([uuid]), { timeout: 2_000, interval: 10 }).toEqual(['Locked'])
      const [machine] = await dispatch().machines.list()
      expect(machine).toMatchObject({ type: 'small', providerType: 't.small', state: 'creating', price: 1 })
      expect(machine!.containers).toMatchObject([{ uuid, run: 0 }])
    })
  })

  test('runs all of a queue to its end on few machines, each container once', async () => {
    const uuids = await Promise.all(Array.from({ length: 12 }, () => dispatch().accept()))
    const keepers = new Keepers(dispatch())
    const rules = { maxInstances: 4, maxConcurrentInstanceCreateOps: 2, timeoutIdleMs: 0 }
    await using([{ rules, pollMs: 5_000 }], async () => {
      const done = async () => {
        await keepers.step()
        return new Set([...(await states(uuids)), (await dispatch().machines.list()).length])
      }
      await expect.poll(done, { timeout: 20_000, interval: 10 }).toEqual(new Set(['Complete', 0]))
    })
    expect(keepers.starts.map(({ uuid }) => uuid).toSorted()).toEqual(uuids.toSorted())
  })

  test('says why containers wait, and takes it back when they do not', async () => {
    const first = await dispatch().accept()
    const [second, supervisor] = await Promise.all([
      dispatch().accept(),
      dispatch().accept({ shape: shape({}, { supervisor: true }), priority: 1 }),
    ])
    const status = async (uuid: string) => (await dispatch().found(uuid)).status
    await using([{ rules: { maxInstances: 1 } }], async () => {
      await expect.poll(() => status(supervisor!), poll).toBe('It waits: all 1 machines are in use')
      await dispatch().containers.change(first, undefined, { cancel: 'enough' })
      await dispatch().containers.change(second!, undefined, { cancel: 'enough' })
      await expect.poll(() => status(supervisor!), poll).toBe('')
    })
  })

  test('fails what no type fits, with all named', async () => {
    const uuid = await dispatch().accept({ shape: shape({ vcpus: 99 }) })
    await using([{}], async () => {
      await expect.poll(() => states([uuid]), poll).toEqual(['Cancelled'])
    })
    expect((await dispatch().found(uuid)).trouble).toMatch(/small.*large/)
  })

  test('decides anew when something changed between reading and writing', async () => {
    const uuid = await dispatch().accept({ priority: 5 })
    let changes = 0
    const failpoint = async (place: string) => {
      if (place !== 'schedule.decided' || changes > 0) return
      changes += 1
      await dispatch().containers.change(uuid, undefined, { priority: 6 })
    }
    await using([{ failpoint }], async ([replica]) => {
      await expect.poll(() => states([uuid]), poll).toEqual(['Locked'])
      expect(replica!.passes[0]).toMatchObject({ done: 0, changed: 1, again: true })
    })
    expect(await dispatch().machines.list()).toHaveLength(1)
  })

  test('reads as many behind those that have a machine, and tells that there are more', async () => {
    const uuids: string[] = []
    for (let i = 0; i < 4; i += 1) uuids.push(await dispatch().accept())
    await dispatch().create(uuids[0]!)
    const read = async (perGroup: number) => {
      const { queue, cut } = (await dispatch().scheduling.read({ perGroup, inAll: 100 }))!
      return [queue.map(({ uuid }) => uuids.indexOf(uuid)).toSorted(), cut.size]
    }
    expect(await read(1)).toEqual([[0, 1], 1])
    expect(await read(3)).toEqual([[0, 1, 2, 3], 0])
  })

  test('writes no decision when the lease passed to another replica after it had read', async () => {
    const uuid = await dispatch().accept()
    const { store, scheduling } = dispatch()
    const held = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const answers: unknown[] = []
    const write = async (token: string, decisions: readonly Decision[]) => {
      const outcomes = await scheduling.write(token, decisions)
      answers.push(outcomes)
      return outcomes
    }
    const scripted = {
      ...{ read: scheduling.read.bind(scheduling), draw: scheduling.draw.bind(scheduling), write },
      ...{ watch: scheduling.watch.bind(scheduling), explain: scheduling.explain.bind(scheduling) },
    }
    const failpoint = (place: string) => {
      if (place !== 'schedule.decided') return
      reached.resolve()
      return held.promise
    }
    await using([{ failpoint, store: scripted }], async () => {
      await reached.promise
      await store.redis.set(store.keys.dispatch.scheduleLease, 'another')
      held.resolve()
      await expect.poll(() => answers, poll).toEqual([null])
    })
    expect([await states([uuid]), await dispatch().machines.list()]).toEqual([['Queued'], []])
    await store.redis.set(store.keys.dispatch.scheduleLease, dispatch().token)
  })

  test('has one replica decide at a time, also when that one is stopped again and again', async () => {
    const uuids = await Promise.all(Array.from({ length: 20 }, (_, i) => dispatch().accept({ priority: 1 + (i % 3) })))
    const keepers = new Keepers(dispatch())
    const writers: string[] = []
    const { scheduling, store } = dispatch()
    const write = async (token: string, decisions: readonly Decision[]) => {
      const outcomes = await scheduling.write(token, decisions)
      if (outcomes?.includes('done')) writers.push(token)
      return outcomes
    }
    const scripted = {
      ...{ read: scheduling.read.bind(scheduling), draw: scheduling.draw.bind(scheduling), write },
      ...{ watch: scheduling.watch.bind(scheduling), explain: scheduling.explain.bind(scheduling) },
    }
    const options = { store: scripted, pollMs: 5_000, rules: { maxInstances: 6, timeoutIdleMs: 0 } }
    await using([options, options, options], async () => {
      let steps = 0
      const done = async () => {
        await keepers.step()
        steps += 1
        // As if its holder had died: the lease is free, and the holder does not know.
        if (steps % 8 === 0) await store.redis.del(store.keys.dispatch.scheduleLease)
        return new Set([...(await states(uuids)), (await dispatch().machines.list()).length])
      }
      await expect.poll(done, { timeout: 30_000, interval: 10 }).toEqual(new Set(['Complete', 0]))
    })
    expect(keepers.starts.map(({ uuid }) => uuid).toSorted()).toEqual(uuids.toSorted())
    // Nobody writes again after another one has.
    const turns = writers.filter((token, i) => token !== writers[i - 1])
    expect(turns.length).toBe(new Set(turns).size)
    expect(turns.length).toBeGreaterThan(1)
  })
})
