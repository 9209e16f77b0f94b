/** Acceptance: the one write that begins an operation, from any replica, at any time, however often it is sent. */
import { expect, test } from 'vitest'
import { ApiError, RetryLater } from '../../../src/base/errors.ts'
import { creation, deletion, hourUs, nowUs, Store, tombstoneMs, useStore } from '../../kit/store/store.ts'

const store = useStore()

/** Repeats a command with the same nonce when a busy Redis has not answered in time. */
async function insist<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isPutOff = error instanceof RetryLater || (error instanceof ApiError && error.status === 503)
      if (!isPutOff) throw error
    }
  }
}

test('the store accepts one of 1,000 simultaneous creations from two replicas', async () => {
  const other = await Store.open(store().server, prefixOf(store()))
  const accept = (i: number) => {
    const request = creation('ada')
    return insist(() => (i % 2 ? other : store()).labs.acceptCreate(request))
  }
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => accept(i)))
  other.close()
  const accepted = answers.filter(({ answer }) => answer === 'accepted')
  expect(accepted).toHaveLength(1)
  expect(answers.filter(({ answer }) => answer === 'exists')).toHaveLength(999)
  expect(await store().eventsOf('ada')).toEqual([[1, 'info', 'begun']])
  expect(await store().redis.zcard(store().keys.waiting)).toBe(1)
  expect(await store().rings()).toBe(2)
})

test('the store accepts one of 1,000 simultaneous deletions, and lets all others join it', async () => {
  await store().run('ada')
  const accept = () => {
    const request = deletion('ada')
    return insist(() => store().labs.acceptDelete(request))
  }
  const answers = await Promise.all(Array.from({ length: 1000 }, accept))
  expect(answers.filter(answer => answer?.answer === 'accepted')).toHaveLength(1)
  expect(new Set(answers.map(answer => answer?.op)).size).toBe(1)
})

test('a creation leaves everything that another replica needs to continue it', async () => {
  const op = await store().create('ada')
  expect(await store().record('ada')).toMatchObject({
    ...{ op, kind: 'create', status: 'pending', active: true, token: '', claims: 0, attempts: 0, step: '', seq: 1 },
    ...{ sealedPlan: 'sealed', podPresent: false, view: { username: 'ada', env: { A: 'b' } } },
  })
  expect(await store().owners.look(9, true)).toMatchObject({ waiting: [{ name: 'ada', op }], owned: [] })
})

test('the plan can be read by its owner only', async () => {
  await store().create('ada')
  expect((await store().labs.find('ada'))!.record).toMatchObject({ status: 'pending', sealedPlan: undefined })
  expect((await store().own('ada')).claim.record.sealedPlan).toBe('sealed')
})

test('a creation sent again with its nonce gets the same answer, whatever happened to it', async () => {
  const again = creation('ada')
  const first = await store().labs.acceptCreate(again)
  expect(await store().labs.acceptCreate(again)).toEqual(first)
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [['complete', 'up']], 'running', {})
  expect(await store().labs.acceptCreate(again)).toEqual(first)
  await store().delete('ada')
  const { by: deleter } = await store().own('ada')
  await store().owners.finish(deleter, 1, [['complete', 'gone']], 'gone', {})
  expect(await store().labs.acceptCreate(again)).toEqual(first)
  expect(await store().record('ada')).toBeNull()
})

test('a deletion sent again with its nonce gets the same answer, even after the lab is gone', async () => {
  await store().run('ada')
  const again = deletion('ada')
  const first = await store().labs.acceptDelete(again)
  expect(first).toMatchObject({ answer: 'accepted' })
  expect(await store().labs.acceptDelete(again)).toEqual(first)
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
  expect(await store().labs.acceptDelete(again)).toEqual(first)
  expect(await store().delete('ada')).toBeNull()
})

test('with an idempotency key another nonce gets the same answer, and another body is refused', async () => {
  const idempotency = { key: 'k', bodyHash: 'a' }
  const op = await store().create('ada', { idempotency })
  expect(await store().labs.acceptCreate(creation('ada', { idempotency }))).toEqual({ answer: 'accepted', op })
  const other = { key: 'k', bodyHash: 'b' }
  expect(await store().labs.acceptCreate(creation('ada', { idempotency: other }))).toEqual({ answer: 'mismatch' })
  expect(await store().labs.repeated('ada', 'k', 'a')).toBe('same')
  expect(await store().labs.repeated('ada', 'k', 'b')).toBe('other')
  expect(await store().labs.repeated('ada', 'another', 'a')).toBe('new')
  expect(await store().labs.repeated('grace', 'k', 'a')).toBe('new')
  const known = [store().labs.remembers('ada', 'k'), store().labs.remembers('ada', 'another')]
  expect(await Promise.all([...known, store().labs.remembers('grace', 'k')])).toEqual([true, false, false])
})

test('a creation is refused while a lab exists, and accepted after one that failed', async () => {
  const first = await store().run('ada')
  expect(await store().labs.acceptCreate(creation('ada'))).toEqual({ answer: 'exists', status: 'running' })
  await store().compares.settlePod({
    ...{ user: 'ada', podUid: 'pod-uid', outcome: 'failed', detail: '', timeoutMs: 1000 },
    events: [['error', 'it broke']],
  })
  const second = await store().create('ada')
  expect(second).toBeGreaterThan(first)
  expect(await store().record('ada')).toMatchObject({ op: second, status: 'pending', seq: 1, namespaceUid: undefined })
})

test('a deletion during a creation ends the old stream, and waits until the owner releases it', async () => {
  const op = await store().create('ada')
  const { by } = await store().own('ada')
  await store().owners.commit(by, 1, [['info', 'made']], { podPresent: true, namespaceUid: 'namespace-uid' })
  const accepted = await store().delete('ada')
  expect(accepted!.op).toBeGreaterThan(op)
  expect(await store().labs.acceptCreate(creation('ada'))).toEqual({ answer: 'exists', status: 'terminating' })
  expect(await store().eventsOf('ada', op)).toEqual([
    [1, 'info', 'begun'],
    [2, 'info', 'made'],
    [3, 'failed', 'superseded'],
  ])
  expect(await store().labs.events('ada', op, 0)).toMatchObject({ ended: true })
  expect(await store().eventsOf('ada')).toEqual([[1, 'info', 'deletion begun']])
  expect(await store().record('ada')).toMatchObject({
    ...{ kind: 'delete', status: 'terminating', active: true, token: '', attempts: 0, namespaceUid: 'namespace-uid' },
    sealedPlan: undefined,
  })
  await expect(store().owners.commit(by, 3, [['info', 'late']], {})).rejects.toThrow('moved on')
  await expect(store().hold('ada', 'another')).rejects.toThrow('held')
  await store().owners.release(by)
  expect((await store().own('ada')).claim.record.op).toBe(accepted!.op)
})

test('a deletion with `onlyIfOp` is accepted only for the current op, and while no operation runs', async () => {
  const op = await store().run('ada')
  expect(await store().delete('ada', { onlyIfOp: op - 1 })).toBeNull()
  expect(await store().delete('ada', { onlyIfOp: op })).toMatchObject({ answer: 'accepted' })
  const pending = await store().create('grace')
  expect(await store().delete('grace', { onlyIfOp: pending })).toBeNull()
  expect(await store().delete('nobody')).toBeNull()
})

test('an op is above Redis’ time, the last op, the tombstone and the failed record, and is never reused', async () => {
  const users = Array.from({ length: 500 }, (_, i) => `u${i}`)
  const before = nowUs()
  const ops = await Promise.all(users.map(user => store().create(user)))
  expect(new Set(ops).size).toBe(500)
  expect(Math.min(...ops)).toBeGreaterThan(before - 1_000_000)
  const ahead = before + hourUs
  await store().redis.set(store().keys.last, ahead)
  expect(await store().create('after-last')).toBe(ahead + 1)
  await store().redis.set(store().keys.tombstone('after-tombstone'), ahead + 1000)
  expect(await store().create('after-tombstone')).toBe(ahead + 1001)
  expect(await store().create('next')).toBe(ahead + 1002)
})

test('a creation removes streams of old operations, and keeps those of the last minutes', async () => {
  const old = nowUs() - hourUs
  const { redis, keys } = store()
  await redis.xadd(keys.events('ada'), `${old}-1`, 'event', 'info', 'data', 'long ago')
  const first = await store().run('ada')
  expect(await store().eventsOf('ada', old)).toEqual([])
  await store().delete('ada')
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
  await store().create('ada')
  expect((await store().eventsOf('ada', first)).map(([seq]) => seq)).toEqual([1, 2])
  expect((await store().eventsOf('ada', by.op)).map(([seq]) => seq)).toEqual([1, 2])
  expect(await redis.pttl(keys.events('ada'))).toBe(-1)
})

test('a creation keeps the stream that the current record names, however old its operation is', async () => {
  const { redis, keys } = store()
  const old = nowUs() - hourUs
  await redis.hset(keys.record('ada'), { op: old, status: 'failed', active: '0', seq: 1 })
  await redis.xadd(keys.events('ada'), `${old}-1`, 'event', 'failed', 'data', 'an hour ago')
  await store().create('ada')
  expect(await store().eventsOf('ada', old)).toEqual([[1, 'failed', 'an hour ago']])
})

test('the keys of a deleted lab expire, except for the last number and the generation', async () => {
  await store().create('ada', { idempotency: { key: 'k', bodyHash: 'a' } })
  const { by: creator } = await store().own('ada')
  await store().owners.finish(creator, 1, [['complete', 'up']], 'running', {})
  await store().delete('ada')
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
  const { redis, keys } = store()
  const left = await redis.keys(`${keys.last.slice(0, -'last'.length)}*`)
  const times = await Promise.all(left.map(async key => [key, await redis.pttl(key)] as const))
  const forEver = times.filter(([, ms]) => ms === -1).map(([key]) => key)
  expect(forEver.sort()).toEqual([keys.generation, keys.last].sort())
  expect(left).toContain(keys.tombstone('ada'))
  for (const key of [keys.tombstone('ada'), keys.events('ada')]) {
    const ms = new Map(times).get(key)!
    expect(ms).toBeGreaterThan(tombstoneMs - 10_000)
    expect(ms).toBeLessThanOrEqual(tombstoneMs)
  }
})

test('all keys of an installation are in one hash slot', async () => {
  await store().create('ada', { idempotency: { key: 'k', bodyHash: 'a' } })
  await store().own('ada')
  await store().run('grace')
  await store().compares.begin('nonce', 1000)
  const { redis, keys } = store()
  const names = await redis.keys(`*${prefixOf(store())}*`)
  expect(names).toEqual(names.filter(name => name.startsWith(keys.last.slice(0, -'last'.length))))
  const slots = await Promise.all(names.map(name => slotOf(name)))
  expect(new Set(slots).size).toBe(1)
})

const prefixOf = ({ keys }: Store) => /\{(.*)\}/.exec(keys.last)![1]!

/** The part of a key that Redis Cluster hashes: the text in its first braces. */
const slotOf = (name: string) => /\{([^}]+)\}/.exec(name)?.[1]
