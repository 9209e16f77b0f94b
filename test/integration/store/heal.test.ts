/** The reads and removals of `skylab heal` in Redis. */
import { expect, test } from 'vitest'
import { HealStore } from '../../../src/store/heal.ts'
import { nowUs, useStore } from '../../kit/store/store.ts'

const store = useStore(({ healerUrl }) => healerUrl)
const poison = Number.MAX_SAFE_INTEGER
const healing = () => new HealStore(store().connection, store().keys)

test('heal removes from a user only what is ahead, each part separately', async () => {
  const { redis, keys } = store()
  const op = await store().run('ada')
  await store().run('bob')
  await redis.hset(keys.record('bob'), 'op', poison)
  await redis.zadd(keys.waiting, poison, 'cyd')
  await redis.set(keys.tombstone('cyd'), poison)
  await redis.xadd(keys.events('dan'), `${poison}-1`, 'event', 'info', 'data', 'x')
  const { users } = await healing().survey()
  const none = { record: 0, stream: 0, tombstone: 0, waiting: 0, namespaceUid: '' }
  const namespaceUid = expect.any(String)
  expect(users).toEqual([
    { ...none, user: 'ada', record: op, stream: op, namespaceUid },
    { ...none, user: 'bob', record: poison, stream: expect.any(Number), namespaceUid },
    { ...none, user: 'cyd', waiting: poison, tombstone: poison },
    { ...none, user: 'dan', stream: poison },
  ])
  const removed = async () => Promise.all(users.map(({ user }) => healing().healUser(user)))
  expect(await removed()).toEqual([[], ['record'], ['waiting', 'tombstone'], ['stream']])
  expect(await removed()).toEqual([[], [], [], []])
  expect(await store().record('ada')).toMatchObject({ op, status: 'running' })
  expect(await store().labs.running()).toEqual(['ada'])
})

test('heal sets the counter to the highest believed op, and makes the next compare run', async () => {
  const { redis, keys } = store()
  await redis.set(keys.last, poison)
  const trusted = nowUs() + 3_600_000_000
  expect(await healing().healCounter(trusted)).toBe(trusted)
  expect(await store().labs.compared()).toBe(false)
  await redis.set(keys.last, poison)
  const now = await healing().healCounter(poison)
  expect(now).toBeGreaterThan(nowUs() - 60_000_000)
  expect(now).toBeLessThanOrEqual(nowUs() + 1000)
  expect(await healing().healCounter(0)).toBe(now)
})
