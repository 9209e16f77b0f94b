/** What containers take that wait or run. Each test ends with the rules of `kit/dispatch/invariants.ts`, which count it all. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { NewContainer } from '../../../src/store/dispatch/containers.ts'
import type { FoundRun } from '../../../src/store/dispatch/keeping.ts'
import { clusterId, container, shape, useDispatch, view } from '../../kit/dispatch/store.ts'

const dispatch = useDispatch()
const kib = 1024

/** A container whose specification has about so many bytes. */
const large = (bytes: number, owner = 'ada', more: Partial<NewContainer> = {}) =>
  container({ view: view(owner), sealSpec: () => 'x'.repeat(bytes), ...more })
/** Where all may have so many bytes. */
const accept = (most: number, asked: NewContainer) => dispatch().containersWithin(most).accept(asked)
const active = async () => (await dispatch().containers.counts())!.activeBytes

test('accept refuses an owner whose containers have an eighth of all bytes, and nobody else', async () => {
  const most = 8 * 100 * kib
  expect(await accept(most, large(50 * kib))).toMatchObject({ answer: 'accepted' })
  const before = await dispatch().store.redis.keys('*')
  expect(await accept(most, large(50 * kib))).toEqual({ answer: 'full', of: 'owner', by: 'bytes' })
  expect((await dispatch().store.redis.keys('*')).sort()).toEqual(before.sort())
  expect(await accept(most, large(20 * kib))).toMatchObject({ answer: 'accepted' })
  expect(await accept(most, large(50 * kib, 'eve'))).toMatchObject({ answer: 'accepted' })
})

test('accept takes the last byte of a share, and not one more', async () => {
  await accept(10 ** 9, large(kib))
  const own = await active()
  expect(await accept(8 * (2 * own - 1), large(kib))).toMatchObject({ answer: 'full', of: 'owner' })
  expect(await accept(8 * 2 * own, large(kib))).toMatchObject({ answer: 'accepted' })
})

test('accept refuses everybody when all have as many bytes as may be', async () => {
  const most = 8 * 50 * kib
  const answers = []
  for (let i = 0; i < 9; i += 1) answers.push(await accept(most, large(42 * kib, `u${i}`)))
  expect(answers.slice(0, 8).map(({ answer }) => answer)).toEqual(Array(8).fill('accepted'))
  expect(answers[8]).toEqual({ answer: 'full', of: 'all', by: 'bytes' })
})

test('accept answers a repeat when there is no room any more', async () => {
  const first = large(50 * kib, 'ada', { idempotency: { key: 'k', bodyHash: 'h' } })
  const accepted = await accept(10 ** 9, first)
  expect(await accept(1, first)).toEqual(accepted)
  expect(await accept(1, { ...first, nonce: randomUUID() })).toEqual({ ...accepted, answer: 'repeated' })
  const other = large(50 * kib, 'ada', { idempotency: { key: 'other', bodyHash: 'h' } })
  expect(await accept(1, other)).toMatchObject({ answer: 'full' })
  // A key of what was refused is as new.
  expect(await accept(10 ** 9, { ...other, nonce: randomUUID() })).toMatchObject({ answer: 'accepted' })
})

test('a container counts while it waits or runs, also when it waits again, and not after its end', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const own = await active()
  expect(own).toBeGreaterThan(0)
  await dispatch().keeping.tell(by, uuid, run, { what: 'running', atMs: 1, gatewayAddress: '' })
  await dispatch().keeping.tell(by, uuid, run, { what: 'lacks' })
  expect([(await dispatch().found(uuid)).state, await active()]).toEqual(['Queued', own])
  const other = await dispatch().accept()
  expect(await active()).toBe(2 * own)
  await dispatch().containers.change(uuid, undefined, { cancel: 'no' })
  expect(await active()).toBe(own)
  await dispatch().containers.change(other, undefined, { cancel: 'no' })
  expect(await active()).toBe(0)
})

test('what runs is adopted when there is no room, and counts until it has ended', async () => {
  const waiting = await dispatch().accept()
  const by = await dispatch().boot(waiting)
  await dispatch().containers.change(waiting, undefined, { cancel: 'only its machine is needed' })
  const most = 8 * 10 * kib
  expect(await accept(most, large(kib))).toMatchObject({ answer: 'accepted' })
  expect(await accept(most, large(kib))).toMatchObject({ answer: 'full' })
  const before = await active()
  const uuid = `${clusterId}-dz642-000000000000001`
  const run: FoundRun = {
    ...{ uuid, run: 7, view: { ...view(), uuid }, shape: shape(), priority: 500 },
    ...{ sealedSpec: 'x'.repeat(200 * kib), running: true, startedMs: 1 },
  }
  expect(await dispatch().keeping.adopt(by, run)).toBe('adopted')
  expect(await active()).toBeGreaterThan(before + 200 * kib)
  await dispatch().check()
  expect(await dispatch().keeping.adopt(by, { ...run, end: { atMs: 1, exitCode: 0 } })).toBe('known')
  expect(await active()).toBe(before)
})

test('the counts are exact when replicas accept and cancel at once, and no share is exceeded', async () => {
  const most = 8 * 60 * kib
  const uuids: string[] = []
  await Promise.all(
    Array.from({ length: 60 }, async (_, i) => {
      const accepted = await accept(most, large(kib * (i % 7), `u${i % 3}`))
      if (!('uuid' in accepted)) return
      uuids.push(accepted.uuid)
      if (i % 4 === 0) await dispatch().containers.change(accepted.uuid, undefined, { cancel: 'no' })
    }),
  )
  const { redis, keys } = dispatch().store
  for (const bytes of Object.values(await redis.hgetall(keys.dispatch.bytes)))
    expect(Number(bytes)).toBeLessThanOrEqual(60 * kib)
  await dispatch().check()
  for (const uuid of uuids) await dispatch().containers.change(uuid, undefined, { cancel: 'no' })
  expect([await active(), await redis.exists(keys.dispatch.bytes)]).toEqual([0, 0])
})
