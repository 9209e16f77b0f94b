/** The reads and removals of `skylab heal` in Redis. */
import { expect, test } from 'vitest'
import { labKind, labOf } from '../../../src/base/subject.ts'
import { containerKind, machineKind } from '../../../src/store/dispatch-keys.ts'
import { HealStore } from '../../../src/store/heal.ts'
import { nowUs, useStore } from '../../kit/store/store.ts'
import { toy } from '../../kit/toy/context.ts'

const store = useStore(({ healerUrl }) => healerUrl)
const poison = Number.MAX_SAFE_INTEGER
const healing = () => new HealStore(store().connection, store().keys, [labKind, toy])

test('heal removes from a user only what is ahead, each part separately', async () => {
  const { redis, keys } = store()
  const op = await store().run('ada')
  await store().run('bob')
  await redis.hset(keys.record('bob'), 'op', poison)
  await redis.zadd(keys.waiting, poison, 'cyd')
  await redis.set(keys.tombstone('cyd'), poison)
  await redis.xadd(keys.events('dan'), `${poison}-1`, 'event', 'info', 'data', 'x')
  const { subjects } = await healing().survey()
  const none = { record: 0, stream: 0, tombstone: 0, waiting: 0, epoch: 0, run: 0, namespaceUid: '' }
  const namespaceUid = expect.any(String)
  expect(subjects).toEqual([
    { ...none, subject: labOf('ada'), record: op, stream: op, namespaceUid },
    { ...none, subject: labOf('bob'), record: poison, stream: expect.any(Number), namespaceUid },
    { ...none, subject: labOf('cyd'), waiting: poison, tombstone: poison },
    { ...none, subject: labOf('dan'), stream: poison },
  ])
  const removed = async () => Promise.all(subjects.map(({ subject }) => healing().healSubject(subject)))
  expect(await removed()).toEqual([[], ['record'], ['waiting', 'tombstone'], ['stream']])
  expect(await removed()).toEqual([[], [], [], []])
  expect(await store().record('ada')).toMatchObject({ op, status: 'running' })
  expect(await store().labs.running()).toEqual(['ada'])
})

test('HealStore removes from a subject of another kind only what is ahead, and leaves the lab of that name alone', async () => {
  const { redis, keys } = store()
  const family = keys.family(toy)
  const op = await store().run('ada')
  await redis.hset(family.record('ada'), 'op', poison)
  await redis.zadd(family.index, 2, 'ada')
  await redis.hset(family.record('bob'), 'op', op, 'epoch', poison)
  await redis.set(family.tombstone('cyd'), String(poison))
  await redis.set(family.lastEpoch, String(poison))
  const { subjects, epochs } = await healing().survey()
  const none = { record: 0, stream: 0, tombstone: 0, waiting: 0, epoch: 0, run: 0, namespaceUid: '' }
  const toys = subjects.filter(({ subject }) => subject.kind === toy)
  expect(toys).toEqual([
    { ...none, subject: { kind: toy, name: 'ada' }, record: poison },
    { ...none, subject: { kind: toy, name: 'bob' }, record: op, epoch: poison },
    { ...none, subject: { kind: toy, name: 'cyd' }, tombstone: poison },
  ])
  expect(epochs).toEqual({ lab: 0, toy: poison })
  const healed = await Promise.all(subjects.map(({ subject }) => healing().healSubject(subject)))
  expect(healed).toEqual([[], ['record'], ['epoch'], ['tombstone']])
  expect(await redis.zrange(family.index, '0', '-1')).toEqual([])
  expect(await redis.hgetall(family.record('bob'))).toEqual({ op: String(op) })
  expect(await store().record('ada')).toMatchObject({ op, status: 'running' })
  const last = await redis.get(keys.last)
  const trusted = nowUs() + 3_600_000_000
  expect(await healing().healCounter(trusted, false)).toBe(Number(last))
  expect(await redis.mget(keys.last, family.lastEpoch)).toEqual([last, String(trusted)])
  // Nothing of labs was wrong.
  expect(await store().labs.compared()).toBe(true)
})

test('heal sets the counter to the highest believed op, and makes the next compare run', async () => {
  const { redis, keys } = store()
  await redis.set(keys.last, poison)
  const trusted = nowUs() + 3_600_000_000
  expect(await healing().healCounter(trusted, true)).toBe(trusted)
  expect(await store().labs.compared()).toBe(false)
  await redis.set(keys.last, poison)
  const now = await healing().healCounter(poison, true)
  expect(now).toBeGreaterThan(nowUs() - 60_000_000)
  expect(now).toBeLessThanOrEqual(nowUs() + 1000)
  expect(await healing().healCounter(0, true)).toBe(now)
})

test('HealStore sets the counters of dispatch back, and makes its compare run, not that of labs', async () => {
  const { connection, redis, keys } = store()
  const { dispatch } = keys
  const dispatchHealing = new HealStore(connection, keys, [machineKind, containerKind], dispatch)
  await redis.mset(keys.last, poison, dispatch.last, poison, dispatch.hold, poison)
  await redis.hset(dispatch.generation, 'identity', 'x')
  await redis.hset(dispatch.machines.record('m1'), 'op', 7, 'epoch', poison)
  await redis.hset(dispatch.containers.record('c1'), 'op', 8, 'run', poison)
  const { epochs, subjects } = await dispatchHealing.survey()
  // One counter for both kinds.
  expect(epochs).toEqual({ [machineKind]: poison })
  const none = { record: 0, stream: 0, tombstone: 0, waiting: 0, epoch: 0, run: 0, namespaceUid: '' }
  expect(subjects).toEqual([
    { ...none, subject: { kind: machineKind, name: 'm1' }, record: 7, epoch: poison },
    { ...none, subject: { kind: containerKind, name: 'c1' }, record: 8, run: poison },
  ])
  const healed = await Promise.all(subjects.map(({ subject }) => dispatchHealing.healSubject(subject)))
  expect(healed).toEqual([['epoch'], []])
  const trusted = nowUs() + 3_600_000_000
  expect(await dispatchHealing.healCounter(trusted, true)).toBe(trusted)
  expect(await redis.mget(keys.last, dispatch.last)).toEqual([String(trusted), String(trusted)])
  expect(await redis.exists(dispatch.generation, dispatch.hold)).toBe(0)
  expect(await store().labs.compared()).toBe(true)
})
