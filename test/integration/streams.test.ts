/** Event streams: their begin, continuation and end, and the meaning of Last-Event-ID. */
import { expect, test } from 'vitest'
import type { LabEvent } from '../../src/base/domain.ts'
import type { Client, EventStream } from '../kit/fleet/client.ts'
import { assertContiguous } from '../kit/fleet/client.ts'
import { useFleet } from '../kit/fleet/fleet.ts'

const fleet = useFleet({ users: 60 })

async function read(stream: EventStream): Promise<LabEvent[]> {
  const events: LabEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

async function finished(): Promise<{ user: Client; events: readonly LabEvent[]; op: number }> {
  const user = fleet().user()
  await user.create()
  return { user, ...(await user.follow()) }
}

test.concurrent('a stream says in its headers how to treat it', async () => {
  const { user } = await finished()
  const stream = await user.events()
  await read(stream)
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  expect(stream.headers.get('cache-control')).toBe('no-cache')
  expect(stream.headers.get('x-accel-buffering')).toBe('no')
  expect(stream.retryMs()).toBeGreaterThan(0)
})

test.concurrent('a finished stream replays completely and closes, from any replica', async () => {
  const { user, events } = await finished()
  for (const url of fleet().urls) {
    const stream = await user.at(url).events()
    expect(await read(stream)).toEqual(events)
    expect(stream.broken()).toBe(false)
  }
})

test.concurrent('a stream with Last-Event-ID continues after it', async () => {
  const { user, events } = await finished()
  for (const [index, { id }] of events.entries()) {
    if (index === events.length - 1) continue
    expect(await read(await user.events({ lastEventId: id }))).toEqual(events.slice(index + 1))
  }
})

test.concurrent('a stream answers 204 to the last id of a finished operation', async () => {
  const { user, events } = await finished()
  expect((await user.events({ lastEventId: events.at(-1)!.id })).status).toBe(204)
})

test.concurrent('a stream starts from the beginning for an id beyond the end', async () => {
  const { user, events, op } = await finished()
  expect(await read(await user.events({ lastEventId: `${op}-9999` }))).toEqual(events)
})

test.concurrent('a stream answers 204 to an id of a stream that is gone, never was or belongs to another user', async () => {
  const { user, op } = await finished()
  const other = await finished()
  for (const lastEventId of ['1-1', `${op + 1}-1`, other.events[0]!.id]) {
    expect((await user.events({ lastEventId })).status).toBe(204)
  }
})

test.concurrent.each(['', 'x', '1', '1-', '-1', '1-1-1', '1-x', '1.5-1'])(
  'the id %j is malformed',
  async lastEventId => {
    const user = fleet().user()
    const { status } = await user.request(`labs/${user.username}/events`, { headers: { 'last-event-id': lastEventId } })
    expect(status).toBe(400)
  },
)

test.concurrent('a stream sends events as they happen, to all readers, through every replica', async () => {
  const user = fleet().user()
  const arm = fleet().arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
  await user.create()
  const streams = await Promise.all(fleet().urls.map(url => user.at(url).events()))
  await arm.landed()
  const firsts = await Promise.all(streams.map(stream => stream[Symbol.asyncIterator]().next()))
  expect(new Set(firsts.map(({ value }) => (value as LabEvent).id)).size).toBe(1)
  arm.release()
  const rests = await Promise.all(streams.map(read))
  const [first] = rests
  expect(first!.at(-1)).toMatchObject({ event: 'complete' })
  assertContiguous(first!, 2)
  for (const rest of rests) expect(rest).toEqual(first)
})

test.concurrent('a stream says that a DELETE supersedes its creation', async () => {
  const user = fleet().user()
  const arm = fleet().arm('lab.create.make.service.before-act', 'hold', { user: user.username })
  await user.create()
  await arm.landed()
  const stream = await user.events()
  const first = (await stream[Symbol.asyncIterator]().next()).value as LabEvent
  expect((await fleet().admin.delete(user.username)).status).toBe(202)
  const rest = await read(stream)
  expect(rest.at(-1)).toMatchObject({ event: 'failed', data: expect.stringContaining('superseded') })
  assertContiguous([first, ...rest])
  arm.release()
  const deleted = await user.follow()
  expect(deleted.outcome).toBe('complete')
  expect(deleted.events[0]!.data).toContain('lab deletion initiated')
  // A reader with an id of the creation gets its outcome, not that of the deletion.
  expect(await read(await user.events({ lastEventId: first.id }))).toEqual(rest)
  expect(await fleet().world.leftOf(user.username)).toEqual([])
})

test.concurrent('a stream still has the outcome of a former operation after the next creation has begun', async () => {
  const { user, events } = await finished()
  await fleet().admin.delete(user.username)
  await user.follow()
  await user.create()
  expect(await read(await user.events({ lastEventId: events[0]!.id }))).toEqual(events.slice(1))
  expect((await user.follow()).outcome).toBe('complete')
})

test.concurrent('a stream answers HEAD with headers and no body', async () => {
  const { user } = await finished()
  const { status, headers, body } = await user.request(`labs/${user.username}/events`, { method: 'HEAD' })
  expect([status, headers.get('content-type'), body]).toEqual([200, 'text/event-stream', undefined])
})
