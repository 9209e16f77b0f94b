/** Numbers more than a day beyond Redis' clock are neither believed nor assigned. */
import { expect, test } from 'vitest'
import { ApiError, RetryLater } from '../../../src/base/errors.ts'
import { deletion, nowUs, useStore, view } from '../../kit/store/store.ts'

const store = useStore()
const dayUs = 86_400_000_000
const poison = Number.MAX_SAFE_INTEGER

const last = async () => Number(await store().redis.get(store().keys.last))
const refused = (attempt: Promise<unknown>) => expect(attempt).rejects.toMatchObject({ status: 503 })

/** This clock has milliseconds only, Redis' own has microseconds. */
const noEarlierUs = () => nowUs() + 1000

test('the end of a compare does not adopt a number that a label invented', async () => {
  await store().create('ada')
  await store().compare(poison)
  expect(await last()).toBeLessThanOrEqual(noEarlierUs())
  const ops = [await store().create('bob'), await store().create('cyd')]
  expect(new Set(ops).size).toBe(2)
  expect(ops.every(op => op <= noEarlierUs())).toBe(true)
  await store().run('dan')
  expect(await store().delete('dan')).toMatchObject({ answer: 'accepted' })
})

test('a creation and a deletion are refused with a reason, and change nothing, when the counter is ahead', async () => {
  await store().run('ada')
  await store().create('bob')
  for (const ahead of [nowUs() + dayUs + 60_000_000, poison, poison + 1]) {
    await store().redis.set(store().keys.last, ahead)
    const before = await Promise.all([store().record('ada'), store().eventsOf('bob'), store().rings()])
    await refused(store().create('cyd'))
    await refused(store().delete('ada'))
    await refused(store().labs.acceptDelete(deletion('bob')))
    expect(await Promise.all([store().record('ada'), store().eventsOf('bob'), store().rings()])).toEqual(before)
    expect(await store().record('cyd')).toBeNull()
    expect(await last()).toBe(ahead)
  }
  const error = await store()
    .create('cyd')
    .catch(thrown => thrown)
  expect(error).toBeInstanceOf(ApiError)
  expect(error.message).toContain('more than a day beyond Redis’ clock')
})

test('a number less than a day ahead is continued from', async () => {
  const ahead = nowUs() + dayUs - 60_000_000
  await store().redis.set(store().keys.last, ahead)
  expect(await store().create('ada')).toBe(ahead + 1)
})

test('an observation of a watch is recorded later when no number can be drawn for it', async () => {
  await store().run('ada')
  await store().redis.set(store().keys.last, poison)
  const finding = { user: 'ada', podUid: 'pod-uid', detail: '', events: [], timeoutMs: 60_000 }
  await expect(store().compares.settlePod({ ...finding, outcome: 'ended' })).rejects.toBeInstanceOf(RetryLater)
  expect(await store().record('ada')).toMatchObject({ status: 'running', active: false })
  expect(await store().compares.settlePod({ ...finding, outcome: 'failed' })).toBe(true)
})

test('settle writes nothing under a number that is ahead, or when none can be drawn', async () => {
  const mark = await store().compares.begin('nonce', 1)
  const settle = async (outcome: 'running' | 'delete', op: number, highestOp: number) => {
    const standing = await store().compares.standing('ada')
    const fields = { view: view('ada'), namespaceUid: 'ns', podUid: 'pod-uid', podPresent: true }
    const settlement = { user: 'ada', standing, fields, events: [], lost: [], timeoutMs: 60_000 }
    return store().compares.settle(mark, { ...settlement, outcome, op, highestOp })
  }
  expect(await settle('running', poison, 5)).toBe('ahead')
  expect(await settle('delete', 5, poison)).toBe('ahead')
  expect(await store().record('ada')).toBeNull()
  expect(await last()).toBeLessThanOrEqual(noEarlierUs())
  expect(await settle('running', 5, 5)).toBe('settled')
})

test('all replicas read a doubt until a compare ends, and a doubt names the counter by itself', async () => {
  expect(await store().compares.readDoubt()).toBeNull()
  const mark = await store().compares.begin('nonce', 1)
  await store().compares.doubt(mark, 'the clock', 60_000)
  expect(await store().compares.end(mark, 1)).toBe(false)
  expect(await store().compares.readDoubt()).toEqual({ kind: 'compare', reason: 'the clock' })
  await store().redis.set(store().keys.last, poison)
  expect(await store().compares.readDoubt()).toMatchObject({ kind: 'counter', lastOp: poison })
  await store().redis.del(store().keys.last)
  await store().compare()
  expect(await store().compares.readDoubt()).toBeNull()
})

test('a compare that was overtaken writes no doubt, and a doubt expires by itself', async () => {
  const first = await store().compares.begin('first', 1)
  const second = await store().compares.begin('second', 1)
  await store().compares.doubt(first, 'the clock', 60_000)
  expect(await store().compares.readDoubt()).toBeNull()
  await store().compares.doubt(second, 'the clock', 60_000)
  expect(await store().redis.pttl(store().keys.doubt)).toBeGreaterThan(0)
})
