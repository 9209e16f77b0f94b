/** Codes that lead to the host of an app, on a real Redis: each is used once, and has an end. */
import { expect, test } from 'vitest'
import { CodeStore } from '../../../src/store/apps/codes.ts'
import { hashOf, newId } from '../../../src/store/apps/ids.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const codes = () => new CodeStore(store().connection, store().keys)
const terms = {
  ...{ appId: 'mlflow', appUid: 'u1', user: 'ada' },
  ...{ loginHash: 'a'.repeat(64), nonceHash: 'b'.repeat(64) },
}
const keyOf = (code: string) => store().keys.apps.code(hashOf(code)!)

test('use gives the terms of a code once, and the same again to who used it', async () => {
  const code = await codes().make(terms)
  expect(await codes().use(code, 'first')).toEqual(terms)
  expect(await codes().use(code, 'second')).toBeUndefined()
  expect(await codes().use(code, 'first')).toEqual(terms)
})

test('of many that use a code at once one has it', async () => {
  const code = await codes().make(terms)
  const used = await Promise.all(Array.from({ length: 20 }, (_, index) => codes().use(code, String(index))))
  expect(used.filter(each => each !== undefined)).toEqual([terms])
})

test('a code ends within a minute, also one that was used, and Redis never has it', async () => {
  const code = await codes().make(terms)
  const { redis } = store()
  const leftMs = await redis.pttl(keyOf(code))
  expect(leftMs).toBeGreaterThan(50_000)
  expect(leftMs).toBeLessThanOrEqual(60_000)
  await redis.pexpire(keyOf(code), 30_000)
  await codes().use(code, 'first')
  expect(await redis.pttl(keyOf(code))).toBeLessThanOrEqual(30_000)
  expect(JSON.stringify([await redis.keys('*'), await redis.hgetall(keyOf(code))])).not.toContain(code)
  await redis.pexpire(keyOf(code), 0)
  expect(await codes().use(code, 'first')).toBeUndefined()
})

test.each(['', 'x', `${'A'.repeat(42)}B`, '../x'])('use knows nothing of %j', async text => {
  expect(await codes().use(text, 'first')).toBeUndefined()
})

test.each([
  ['login', 'x'],
  ['nonce', ''],
  ['user', ''],
])('use takes no code whose %s is %j', async (field, value) => {
  const code = await codes().make(terms)
  await store().redis.hset(keyOf(code), field, value)
  expect(await codes().use(code, 'first')).toBeUndefined()
})

test('use knows nothing of a code that nobody made, and leaves nothing', async () => {
  const code = newId()
  expect(await codes().use(code, 'first')).toBeUndefined()
  expect(await store().redis.exists(keyOf(code))).toBe(0)
})
