/** An operation keeps the request that it comes from, for its owner; and a census counts labs and operations. */
import { expect, test } from 'vitest'
import { creation, deletion, useStore } from '../../kit/store/store.ts'

const store = useStore()
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const origin = { requestId: 'request-1', traceparent }

test('a claim returns the request that the operation comes from', async () => {
  await store().create('ada', origin)
  expect((await store().own('ada')).claim.record).toMatchObject(origin)
  await store().create('grace')
  expect((await store().own('grace')).claim.record).toMatchObject({ requestId: undefined, traceparent: undefined })
})

test('a deletion has a request of its own, and names the operation that it superseded', async () => {
  const op = await store().create('ada', origin)
  const accepted = await store().labs.acceptDelete(deletion('ada', { requestId: 'request-2' }))
  expect(accepted?.superseded).toEqual({ op, acceptedAtMs: expect.any(Number), ...origin })
  expect(Math.abs(accepted!.superseded!.acceptedAtMs - Date.now())).toBeLessThan(60_000)
  expect(await store().record('ada')).toMatchObject({ requestId: 'request-2', traceparent: undefined })
  await store().run('grace')
  expect(await store().labs.acceptDelete(deletion('grace'))).not.toHaveProperty('superseded')
})

test('a deletion without a caller comes from no request', async () => {
  const op = await store().create('ada', origin)
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [['complete', 'up']], 'running', { podUid: 'pod-uid' })
  await store().compares.settlePod({
    ...{
      user: 'ada',
      podUid: 'pod-uid',
      outcome: 'ended',
      detail: '',
      timeoutMs: 1000,
      events: [['info', 'shut down']],
    },
  })
  const record = await store().record('ada')
  expect(record!.op).toBeGreaterThan(op)
  expect(record).toMatchObject({ kind: 'delete', requestId: undefined, traceparent: undefined })
})

test('a census counts labs by status and operations by state', async () => {
  await store().run('runs')
  await store().create('waits')
  await store().create('late', { timeoutMs: 1 })
  await store().own('late')
  await store().labs.acceptCreate(creation('fails'))
  const { by } = await store().own('fails')
  await store().owners.finish(by, 1, [['failed', 'no']], 'failed', {})
  const counted = await store().labs.census()
  expect(counted).toMatchObject({
    subjects: { pending: 2, running: 1, terminating: 0, failed: 1 },
    ...{ waiting: 1, owned: 1, overdue: 1 },
  })
  expect(counted!.longestWaitSeconds).toBeGreaterThanOrEqual(0)
  expect(counted!.longestWaitSeconds).toBeLessThan(30)
  await store().redis.flushall()
  expect(await store().labs.census()).toBeUndefined()
})
