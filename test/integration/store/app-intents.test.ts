/** Intents to start apps: asked once, taken by one, and taken again from a replica that is gone. */
import { expect, test } from 'vitest'
import { IntentStore } from '../../../src/store/apps/intents.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const intents = () => new IntentStore(store().connection, store().keys)
const intent = { id: 'mlflow', uid: 'u1', generation: 3, user: 'ada' }

/** Moves all that is known of an intent back by some milliseconds. */
async function pass(ms: number, id = 'mlflow'): Promise<void> {
  const { redis, keys } = store()
  const [at, taken, ...rest] = (await redis.hget(keys.apps.intents, id))!.split(' ')
  const moved = [Number(at) - ms, Math.max(0, Number(taken) - ms), ...rest].join(' ')
  await redis.hset(keys.apps.intents, id, moved)
}

test('ask notes the same once, and take gives it to one', async () => {
  expect(await intents().ask(intent)).toBe('asked')
  expect(await intents().ask(intent)).toBe('waits')
  const both = await Promise.all([intents().take('a'), intents().take('b')])
  expect(both.flat()).toEqual([{ ...intent, atMs: expect.any(Number) }])
  await intents().end(both.flat()[0]!)
  expect(await intents().take('c')).toEqual([])
  expect(await intents().ask(intent)).toBe('asked')
})

test('take gives the same again to its taker, and to others when he has not ended it in time', async () => {
  await intents().ask(intent)
  expect(await intents().take('a')).toHaveLength(1)
  expect(await intents().take('a')).toHaveLength(1)
  await pass(29_000)
  expect(await intents().take('b')).toEqual([])
  await pass(2_000)
  expect(await intents().take('b')).toHaveLength(1)
})

test('end keeps what was asked anew meanwhile', async () => {
  await intents().ask(intent)
  await pass(6_000)
  const [taken] = await intents().take('a')
  expect(await intents().ask({ ...intent, generation: 4 })).toBe('asked')
  await intents().end(taken!)
  expect(await intents().take('b')).toEqual([{ ...intent, generation: 4, atMs: expect.any(Number) }])
})

test('ask waits when too many wait', async () => {
  const { redis, keys } = store()
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`a${i}`, `${Date.now()} 0 - {}`]))
  await redis.hset(keys.apps.intents, many)
  expect(await intents().ask(intent)).toBe('waits')
  expect(await intents().take('a', 2_000)).toEqual([])
  expect(await redis.hlen(keys.apps.intents)).toBe(0)
  expect(await intents().ask(intent)).toBe('asked')
  expect(await redis.pttl(keys.apps.intents)).toBeGreaterThan(590_000)
})

test('take forgets what is old, and what cannot be read', async () => {
  const { redis, keys } = store()
  await intents().ask(intent)
  await pass(601_000)
  const bad = { other: `${Date.now()} 0 - ${JSON.stringify(intent)}`, x: 'x', 'a/b': `${Date.now()} 0 - {}` }
  await redis.hset(keys.apps.intents, bad)
  expect(await intents().take('a')).toEqual([])
  expect(await redis.hlen(keys.apps.intents)).toBe(0)
})
