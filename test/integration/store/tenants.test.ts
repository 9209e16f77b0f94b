/** The events of tenants on Redis: each is told once, whatever replicas tell, in whatever order. */
import { expect, test } from 'vitest'
import { type Tell, TenantStore } from '../../../src/store/tenants.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const tenants = () => new TenantStore(store().connection, store().keys)
const later = Date.now() + 3_600_000

const granted = [1, 'granted', '{"id":"g"}'] as const
const effective = [2, 'effective', '{"id":"g"}'] as const
const ended = [3, 'ended', '{"id":"g","why":"released"}'] as const
const grant = (...events: (readonly [number, string, string])[]) => [{ id: 'g', user: 'ann', untilMs: later, events }]
const tell = (more: Partial<Tell> = {}): Tell => ({
  ...{ name: 'a', uid: 'u1', generation: 1, version: '10', ready: '', grants: [] },
  ...more,
})

async function eventsOf(isThere = true, series?: number, after = 0, uid = 'u1') {
  const read = await tenants()
    .stream('a', uid, () => isThere)
    .read(series, after)
  return read.found ? read.events.map(({ id, event }) => `${id} ${event}`) : 'none'
}

test('tell adds each event once when all replicas tell the same', async () => {
  const seen = tell({ ready: '{"status":"True"}', grants: grant(granted, effective) })
  const added = await Promise.all([1, 2, 3].map(() => tenants().tell(seen)))
  expect(added.map(({ length }) => length).sort()).toEqual([0, 0, 3])
  expect(await eventsOf()).toEqual(['1-1 condition', '1-2 granted', '1-3 effective'])
})

test('tell adds nothing when a replica is behind', async () => {
  await tenants().tell(tell({ grants: grant(granted), version: '10' }))
  await tenants().tell(tell({ grants: grant(granted, ended), version: '12', generation: 2, ready: '{"is":2}' }))
  expect(await tenants().tell(tell({ grants: grant(granted, effective), version: '10', ready: '{"is":1}' }))).toEqual(
    [],
  )
  expect(await tenants().tell(tell({ version: '9', ready: '{"is":0}' }))).toEqual([])
  expect(await eventsOf(true, 1)).toEqual(['1-1 granted', '2-1 condition', '2-2 ended'])
})

test('tell ends what is there no more when nobody told why', async () => {
  await tenants().tell(tell({ grants: grant(granted) }))
  expect(await tenants().tell(tell({ version: '11' }))).toEqual([
    { event: 'ended', data: expect.stringContaining('"why":"unknown"') },
  ])
  await tenants().tell(tell({ grants: [{ ...grant(granted)[0]!, id: 'h', untilMs: 1 }], version: '12' }))
  expect(await tenants().tell(tell({ version: '13' }))).toEqual([
    { event: 'ended', data: expect.stringContaining('"why":"until"') },
  ])
})

test('tell begins anew when an LNamespace is made again, and forgets the former one', async () => {
  await tenants().tell(tell({ grants: grant(granted), generation: 7 }))
  await tenants().tell(tell({ uid: 'u2', version: '20', ready: '{}' }))
  expect(await tenants().tell(tell({ version: '11', grants: grant(granted, effective) }))).toEqual([])
  expect(await eventsOf(true, undefined, 0, 'u2')).toEqual(['1-2 condition'])
})

test('read gives nothing of the former LNamespace of a name when nothing was told of this one', async () => {
  await tenants().tell(tell({ grants: grant(granted) }))
  expect(await eventsOf(true, undefined, 0, 'u2')).toEqual([])
  expect(await eventsOf(true, 1, 0, 'u2')).toEqual([])
  await tenants().tell(tell({ uid: 'u2', version: '20', ready: '{}' }))
  expect(await eventsOf(true, 0, 0, 'u2')).toEqual(['1-2 condition'])
  expect(await eventsOf(true, 1, 0, 'u1')).toEqual([])
})

/** Tells that an LNamespace is ready in a new way. */
const condition = (uid: string, version: number, generation = 1) =>
  tenants().tell(tell({ uid, generation, version: `${version}`, ready: `{"is":${version}}` }))

test('read gives all events of an LNamespace when the client holds a place of the former one of its name', async () => {
  for (const [uid, version] of [
    ['u1', 11],
    ['u1', 12],
    ['u2', 21],
    ['u2', 22],
  ] as const)
    await condition(uid, version)
  expect(await eventsOf(true, 1, 2, 'u2')).toEqual(['1-3 condition', '1-4 condition'])
})

test('read gives all events of an LNamespace when the former one had more generations', async () => {
  for (const [version, generation] of [
    [11, 1],
    [12, 1],
    [13, 2],
  ] as const)
    await condition('u1', version, generation)
  for (const [version, generation] of [
    [21, 1],
    [22, 2],
    [23, 3],
  ] as const)
    await condition('u2', version, generation)
  const all = ['1-3 condition', '2-3 condition', '3-3 condition']
  for (const [series, seq] of [
    [1, 1],
    [1, 2],
    [2, 1],
  ] as const)
    expect(await eventsOf(true, series, seq, 'u2')).toEqual(all)
  expect(await eventsOf(true, 2, 3, 'u2')).toEqual(['3-3 condition'])
})

test('read gives all events of an LNamespace when nothing was told of the one between', async () => {
  await condition('u1', 11)
  await tenants().tell(tell({ uid: 'u2', version: '20' }))
  await condition('u3', 31)
  expect(await eventsOf(true, 1, 1, 'u3')).toEqual(['1-2 condition'])
})

test('read goes on from one generation to the next', async () => {
  await tenants().tell(tell({ ready: '{"is":1}' }))
  await tenants().tell(tell({ ready: '{"is":2}', generation: 2, version: '11' }))
  expect(await eventsOf()).toEqual(['2-1 condition'])
  expect(await eventsOf(true, 1, 1)).toEqual(['2-1 condition'])
  expect(await eventsOf(true, 2, 1)).toEqual([])
  // Places of a stream that was lost.
  expect(await eventsOf(true, 9, 0)).toEqual(['1-1 condition', '2-1 condition'])
  expect(await eventsOf(true, 2, 9)).toEqual(['1-1 condition', '2-1 condition'])
  expect(await eventsOf(false)).toBe('none')
})

test('read finds a tenant of which nothing was told', async () => {
  expect(await eventsOf()).toEqual([])
})
