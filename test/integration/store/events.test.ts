/** Streams as clients read them: from a place on, to the end of their operation, for as long as they are kept. */
import { expect, test } from 'vitest'
import { eventsMs, info, nowUs, useStore } from '../../kit/store/store.ts'

const store = useStore()

const ids = async (op: number | undefined, after: number) => {
  const read = await store().labs.events('ada', op, after)
  return read.found ? { ...read, events: read.events.map(({ id }) => id) } : read
}

test('events are read from the start, from a place, from the end and from beyond it', async () => {
  const op = await store().create('ada')
  const { by } = await store().own('ada')
  await store().owners.commit(by, 1, [info('a'), info('b')], {})
  const all = { found: true, op, ended: false, lastSeq: 3, events: [`${op}-1`, `${op}-2`, `${op}-3`] }
  expect(await ids(undefined, 0)).toEqual(all)
  expect(await ids(op, 2)).toEqual({ ...all, events: [`${op}-3`] })
  expect(await ids(op, 3)).toEqual({ ...all, events: [] })
  expect(await ids(op, 4)).toEqual(all)
})

test('events are read up to a limit, with a sign that there are more', async () => {
  const op = await store().create('ada')
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [info('a'), ['complete', 'b']], 'running', {})
  const read = async (after: number, limit: number) => {
    const part = await store().labs.events('ada', op, after, limit)
    return part.found && [part.ended, part.more, part.lastSeq, part.events.length]
  }
  expect(await read(0, 2)).toEqual([false, true, 2, 2])
  expect(await read(2, 2)).toEqual([true, undefined, 3, 1])
  expect(await read(0, 3)).toEqual([true, undefined, 3, 3])
})

test('there are no events for an unknown user, an unknown op, and another user’s op', async () => {
  const op = await store().create('ada')
  expect(await store().labs.events('nobody', undefined, 0)).toEqual({ found: false })
  expect(await ids(op - 1, 0)).toEqual({ found: false })
  expect(await store().labs.events('grace', op, 0)).toEqual({ found: false })
})

test('an ended operation still has its outcome when others have begun since', async () => {
  const first = await store().create('ada')
  const second = (await store().delete('ada'))!.op
  expect(await ids(first, 1)).toEqual({ found: true, op: first, ended: true, lastSeq: 2, events: [`${first}-2`] })
  expect(await ids(undefined, 0)).toMatchObject({ op: second, ended: false })
  const { by } = await store().own('ada')
  await store().owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
  expect(await ids(second, 0)).toMatchObject({ ended: true, lastSeq: 2 })
  expect(await ids(undefined, 0)).toMatchObject({ op: second, ended: true })
  expect(await ids(first, 0)).toMatchObject({ ended: true, lastSeq: 2 })
})

test('later events of a lab follow the end of its creation', async () => {
  const op = await store().run('ada')
  const events = [['error', 'it broke']] as const
  await store().compares.settlePod({
    ...{ user: 'ada', podUid: 'pod-uid', outcome: 'failed', detail: '', events, timeoutMs: 1 },
  })
  expect(await ids(op, 2)).toEqual({ found: true, op, ended: true, lastSeq: 3, events: [`${op}-3`] })
})

test('streams of the last half hour stay beside a newer one, each without gaps', async () => {
  const ops: number[] = []
  for (let i = 0; i < 20; i++) {
    ops.push(await store().create('ada'))
    const { by } = await store().own('ada')
    await store().owners.commit(by, 1, [info('a'), info('b')], {})
    await store().owners.finish(by, 3, [['failed', 'no']], 'failed', {})
  }
  for (const op of ops) expect((await store().eventsOf('ada', op)).map(([seq]) => seq)).toEqual([1, 2, 3, 4])
  const { redis, keys } = store()
  const old = nowUs() - (eventsMs + 60_000) * 1000
  const recent = nowUs() - (eventsMs - 60_000) * 1000
  await redis.del(keys.events('ada'))
  await redis.xadd(keys.events('ada'), `${old}-1`, 'event', 'failed', 'data', 'old')
  await redis.xadd(keys.events('ada'), `${recent}-1`, 'event', 'failed', 'data', 'recent')
  await store().create('ada')
  expect(await store().eventsOf('ada', old)).toEqual([])
  expect(await store().eventsOf('ada', recent)).toEqual([[1, 'failed', 'recent']])
})
