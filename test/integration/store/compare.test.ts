/** The writes of a compare and of a watch, and their conditions. */

import { describe, expect, test } from 'vitest'
import { RetryLater } from '../../../src/base/errors.ts'
import type { Mark, PodFinding, Settlement } from '../../../src/store/compares.ts'
import { deletion, hourUs, nowUs, useStore, view } from '../../kit/store/store.ts'

const store = useStore()

const lost: Settlement['lost'] = [['failed', 'lost']]
const found: Settlement['events'] = [
  ['info', 'found again'],
  ['complete', 'up'],
]

/** Settles a user as a compare does: with what it has just read, and what the cluster shows. */
async function settle(user: string, more: Partial<Settlement> = {}, mark = store().compares.begin('nonce', 1)) {
  const standing = await store().compares.standing(user)
  const fields = { view: view(user), namespaceUid: 'ns', podUid: 'pod-uid', podPresent: true }
  const usual = { user, standing, outcome: 'running', op: 5_000, highestOp: 5_000, fields, events: found } as const
  return store().compares.settle(await mark, { ...usual, lost, timeoutMs: 60_000, ...more })
}

const finding = (more: Partial<PodFinding> = {}): PodFinding => ({
  ...{ user: 'ada', podUid: 'pod-uid', outcome: 'failed', detail: '', events: [['error', 'it broke']] },
  ...{ timeoutMs: 60_000, ...more },
})

describe('a compare', () => {
  test('writes the generation only at its end, and rings', async () => {
    await store().redis.flushall()
    const mark = await store().compares.begin('nonce', 60_000)
    expect(mark).toMatchObject({ needed: true, foundOp: 0 })
    expect(await store().labs.compared()).toBe(false)
    expect(await store().compares.end(mark, 5_000)).toBe(true)
    expect(await store().labs.compared()).toBe(true)
    expect(await store().rings()).toBe(1)
    expect(await store().redis.get(store().keys.last)).toBe('5000')
    expect(await store().redis.exists(store().keys.mark)).toBe(0)
  })

  test('rings nothing and holds nothing when it was not needed', async () => {
    await store().create('ada')
    const rings = await store().rings()
    const mark = await store().compares.begin('nonce', 60_000)
    expect(mark.needed).toBe(false)
    expect(await store().compares.end(mark, 1)).toBe(true)
    expect(await store().rings()).toBe(rings)
    expect(await store().redis.exists(store().keys.hold)).toBe(0)
  })

  test('never lowers the last number', async () => {
    const op = await store().create('ada')
    await store().compare(1)
    expect(await store().redis.get(store().keys.last)).toBe(String(op))
  })

  test('writes nothing more when it was overtaken', async () => {
    const first = await store().compares.begin('first', 1)
    const second = await store().compares.begin('second', 1)
    expect(await settle('ada', {}, Promise.resolve(first))).toBe('unmarked')
    expect(await store().compares.end(first, 1)).toBe(false)
    expect(await store().record('ada')).toBeNull()
    expect(await store().compares.end(second, 1)).toBe(true)
    expect(await store().compares.end(second, 1)).toBe(false)
  })

  test('writes nothing into a Redis that was emptied after it began', async () => {
    const mark = await store().compares.begin('nonce', 1)
    await store().redis.flushall()
    expect(await settle('ada', {}, Promise.resolve(mark))).toBe('unmarked')
    expect(await store().compares.end(mark, 1)).toBe(false)
    expect(await store().labs.compared()).toBe(false)
  })

  test('knows all users with a record', async () => {
    await store().create('ada')
    await store().run('grace')
    expect((await store().compares.users()).sort()).toEqual(['ada', 'grace'])
  })
})

describe('settle', () => {
  test('restores a lab under its own op, with a stream of two events', async () => {
    expect(await settle('ada')).toBe('settled')
    expect(await store().labs.find('ada')).toMatchObject({
      record: {
        ...{ op: 5_000, kind: 'create', status: 'running', active: false, namespaceUid: 'ns', podUid: 'pod-uid' },
        view: view('ada'),
      },
      events: [{ id: '5000-1' }, { id: '5000-2', event: 'complete' }],
    })
    expect(await store().labs.running()).toEqual(['ada'])
  })

  test('restores a lab that failed', async () => {
    expect(await settle('ada', { outcome: 'failed' })).toBe('settled')
    expect((await store().record('ada'))!.failedAtMs).toBeGreaterThan(Date.now() - 60_000)
    expect(await store().labs.running()).toEqual([])
    expect(await store().create('ada')).toBeGreaterThan(5_000)
  })

  test('starts an ordinary deletion of a partial lab, with an op above all in the cluster', async () => {
    const highestOp = nowUs() + hourUs
    expect(await settle('ada', { outcome: 'delete', highestOp, op: highestOp })).toBe('settled')
    const record = await store().record('ada')
    expect(record).toMatchObject({ op: highestOp + 1, kind: 'delete', status: 'terminating', active: true, seq: 2 })
    expect((await store().own('ada')).claim.record.op).toBe(highestOp + 1)
  })

  test.each([
    ['another op', (key: string) => store().redis.hset(key, 'op', 7)],
    ['another status', (key: string) => store().redis.hset(key, 'status', 'failed')],
    ['an operation', (key: string) => store().redis.hset(key, 'active', '1')],
    ['an owner', (key: string) => store().redis.hset(key, 'token', 'somebody')],
    ['another pod', (key: string) => store().redis.hset(key, 'podUid', 'another')],
    ['no record', (key: string) => store().redis.del(key)],
    ['a tombstone', () => store().redis.set(store().keys.tombstone('ada'), 9)],
  ] as const)('is refused when the record has changed: %s', async (_, move) => {
    await store().run('ada')
    const standing = await store().compares.standing('ada')
    await move(store().keys.record('ada'))
    expect(await settle('ada', { standing })).toBe('moved')
  })

  test('is refused when a record has appeared meanwhile', async () => {
    const standing = await store().compares.standing('ada')
    await store().create('ada')
    expect(await settle('ada', { standing })).toBe('moved')
    expect(await store().record('ada')).toMatchObject({ status: 'pending' })
  })

  test('compares records in each state with themselves', async () => {
    await store().create('pending')
    await store().create('owned')
    await store().own('owned')
    await store().run('running')
    await store().run('terminating')
    await store().delete('terminating')
    await settle('failed', { outcome: 'failed', fields: { podUid: '', podPresent: false } })
    for (const user of ['pending', 'owned', 'running', 'terminating', 'failed', 'nobody']) {
      expect([user, await settle(user)]).toEqual([user, 'settled'])
    }
  })

  test('ends the stream of an operation that it overrules, whose owner can write no more', async () => {
    const op = await store().create('ada')
    const { by } = await store().own('ada')
    const newer = op + 1000
    expect(await settle('ada', { op: newer, highestOp: newer })).toBe('settled')
    expect(await store().eventsOf('ada', op)).toEqual([
      [1, 'info', 'begun'],
      [2, 'failed', 'lost'],
    ])
    await expect(store().owners.commit(by, 1, [['info', 'stale']], {})).rejects.toThrow('moved on')
    expect(await store().owners.extend([by], 3000)).toEqual([false])
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [], owned: [], overdue: [] })
  })

  test('replaces a stream with higher ids, whose past was lost', async () => {
    const { redis, keys } = store()
    await redis.xadd(keys.events('ada'), '6000-3', 'event', 'info', 'data', 'later')
    expect(await settle('ada', { op: 6_000 })).toBe('settled')
    expect(await store().eventsOf('ada')).toHaveLength(2)
    expect(await store().eventsOf('ada', 6_000)).toHaveLength(2)
  })
})

describe('settlePod', () => {
  test('marks a running lab failed when this very pod failed', async () => {
    const op = await store().run('ada')
    expect(await store().compares.settlePod(finding({ podUid: 'another' }))).toBe(false)
    expect(await store().compares.settlePod(finding({ user: 'nobody' }))).toBe(false)
    expect(await store().compares.settlePod(finding())).toBe(true)
    expect(await store().record('ada')).toMatchObject({ op, status: 'failed', podPresent: true, seq: 3 })
    expect(await store().labs.running()).toEqual([])
    expect(await store().compares.settlePod(finding())).toBe(false)
    expect(await store().eventsOf('ada')).toHaveLength(3)
  })

  test('marks a lab failed when its pod is gone', async () => {
    await store().run('ada')
    expect(await store().compares.settlePod(finding({ detail: 'gone' }))).toBe(true)
    expect(await store().record('ada')).toMatchObject({ status: 'failed', podPresent: false })
  })

  test('removes the pod from a failed lab when the pod is gone, and adds no event', async () => {
    const op = await store().run('ada')
    await store().compares.settlePod(finding())
    expect(await store().compares.settlePod(finding({ podUid: 'another', detail: 'gone' }))).toBe(false)
    expect(await store().record('ada')).toMatchObject({ podPresent: true })
    expect(await store().compares.settlePod(finding({ detail: 'gone' }))).toBe(true)
    expect(await store().record('ada')).toMatchObject({ op, status: 'failed', podPresent: false, seq: 3 })
    expect(await store().compares.settlePod(finding({ detail: 'gone' }))).toBe(false)
    expect(await store().eventsOf('ada')).toHaveLength(3)
  })

  test('writes nothing about a missing pod while an operation is in progress', async () => {
    await store().run('ada')
    await store().compares.settlePod(finding())
    await store().delete('ada')
    expect(await store().compares.settlePod(finding({ detail: 'gone' }))).toBe(false)
    expect(await store().record('ada')).toMatchObject({ status: 'terminating', podPresent: true })
  })

  test('deletes the lab under a new op when its pod ended well', async () => {
    const op = await store().run('ada')
    expect(await store().compares.settlePod(finding({ outcome: 'ended' }))).toBe(true)
    const record = await store().record('ada')
    expect(record).toMatchObject({ kind: 'delete', status: 'terminating', active: true })
    expect(record!.op).toBeGreaterThan(op)
  })

  test('writes each restart once', async () => {
    await store().run('ada')
    const again = (detail: number) => store().compares.settlePod(finding({ outcome: 'restarted', detail }))
    expect([await again(1), await again(1), await again(2), await again(1)]).toEqual([true, false, true, false])
    expect(await store().record('ada')).toMatchObject({ status: 'running', seq: 4 })
  })

  test('writes nothing while an operation runs', async () => {
    await store().run('ada')
    await store().delete('ada')
    for (const outcome of ['failed', 'ended', 'restarted'] as const) {
      expect(await store().compares.settlePod(finding({ outcome, detail: 9 }))).toBe(false)
    }
    expect(await store().eventsOf('ada')).toHaveLength(1)
  })

  test('lets only the compare write while the data are not compared', async () => {
    await store().run('ada')
    await store().redis.hset(store().keys.generation, 'identity', 'another')
    await expect(store().compares.settlePod(finding())).rejects.toThrow(RetryLater)
    const overtaken = await store().compares.begin('first', 1)
    const mark = await store().compares.begin('second', 1)
    await expect(store().compares.settlePod(finding(), overtaken)).rejects.toThrow(RetryLater)
    expect(await store().compares.settlePod(finding(), mark)).toBe(true)
  })

  test.each(['failed', 'ended', 'restarted'] as const)(
    'refuses "%s" of a compare that was overtaken, when the data are compared',
    async outcome => {
      const op = await store().run('ada')
      const first = await store().compares.begin('first', 1)
      const second = await store().compares.begin('second', 1)
      const settled = (mark: Mark) => store().compares.settlePod(finding({ outcome, detail: 1 }), mark)
      await expect(settled(first)).rejects.toThrow(RetryLater)
      expect(await store().record('ada')).toMatchObject({ op, status: 'running', active: false, seq: 2 })
      expect(await settled(second)).toBe(true)
      expect(await store().compares.end(second, 1)).toBe(true)
      await expect(settled(second)).rejects.toThrow(RetryLater)
    },
  )
})

test('reports nothing as missing while the data are not compared', async () => {
  await store().run('ada')
  await store().redis.flushall()
  const again = deletion('ada')
  let asked = 0
  store().comparing.add(() => {
    asked += 1
  })
  for (const ask of [
    () => store().create('ada'),
    () => store().labs.acceptDelete(again),
    () => store().labs.find('ada'),
    () => store().labs.running(),
    () => store().labs.events('ada', undefined, 0),
  ]) {
    await expect(ask()).rejects.toMatchObject({ status: 503, headers: { 'Retry-After': '1' } })
  }
  expect(asked).toBe(5)
  expect(await store().owners.look(9, true)).toBeNull()
  expect(await store().owners.claim('ada', 'mine', 3000)).toBeNull()
  await store().compare()
  expect(await store().labs.find('ada')).toBeNull()
})
