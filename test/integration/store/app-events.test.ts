/** The events of apps on Redis: each is told once, whatever replicas tell, in whatever order. */
import { expect, test } from 'vitest'
import { AppEventStore, type AppTell, mostEvents } from '../../../src/store/app-events.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const apps = () => new AppEventStore(store().connection, store().keys, store().keys.bell)
const tell = (more: Partial<AppTell> = {}): AppTell => ({
  ...{ uid: 'u1', version: '10', phase: '', events: [] },
  ...more,
})

async function eventsOf(series?: number, after = 0, limit?: number) {
  const read = await apps()
    .stream('u1', () => true)
    .read(series, after, limit)
  return read.found ? read.events : []
}
const shown = async (...place: Parameters<typeof eventsOf>) =>
  (await eventsOf(...place)).map(({ id, event, data }) => `${id.split('-')[1]} ${event} ${data}`)

test('tell adds each event once when all replicas tell the same', async () => {
  const seen = tell({
    phase: 'Starting',
    events: [
      ['e1', 'info', 'pulling'],
      ['e2', 'error', 'no room'],
    ],
  })
  await Promise.all([1, 2, 3].map(() => apps().tell(seen)))
  await apps().tell(
    tell({
      phase: 'Ready',
      version: '11',
      events: [
        ['e2', 'error', 'no room'],
        ['e3', 'info', 'up'],
      ],
    }),
  )
  expect(await shown()).toEqual(['1 info pulling', '2 error no room', '3 phase Starting', '4 info up', '5 phase Ready'])
})

test('tell leaves the phase when a replica is behind', async () => {
  await apps().tell(tell({ phase: 'Ready', version: '12' }))
  await apps().tell(tell({ phase: 'Starting', version: '9', events: [['e1', 'info', 'late']] }))
  await apps().tell(tell({ phase: 'Ready', version: '13' }))
  expect(await shown()).toEqual(['1 phase Ready', '2 info late'])
})

test('tell keeps the last 200 events, whose numbers go on', async () => {
  const events = Array.from({ length: mostEvents + 50 }, (_, i) => [`e${i}`, 'info', String(i)] as const)
  await apps().tell(tell({ events }))
  await apps().tell(tell({ phase: 'Ready' }))
  const all = await shown(undefined, 0, 1_000)
  expect(all).toHaveLength(mostEvents)
  expect([all[0], all.at(-1)]).toEqual(['52 info 51', '251 phase Ready'])
})

test('read goes on after an event, and begins anew when its stream was lost', async () => {
  await apps().tell(
    tell({
      events: [
        ['e1', 'info', 'a'],
        ['e2', 'info', 'b'],
      ],
    }),
  )
  const [{ id } = { id: '' }] = await eventsOf()
  const series = Number(id.split('-')[0])
  expect(await shown(series, 1)).toEqual(['2 info b'])
  expect(await shown(series, 2)).toEqual([])
  await store().redis.del(store().keys.family('app').events('u1'), store().keys.appTold('u1'))
  await apps().tell(tell({ events: [['e3', 'info', 'c']] }))
  expect(await shown(series, 2)).toEqual(['1 info c'])
})

test('read finds an app of which nothing was told, and none that is gone', async () => {
  expect(await eventsOf()).toEqual([])
  const stream = apps().stream('u1', () => false)
  expect(await stream.read(undefined, 0)).toEqual({ found: false })
})
