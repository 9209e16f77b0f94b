/** The bell: every ring is heard once and in order, and a possible gap is noticed. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { labOf } from '../../../src/base/subject.ts'
import { Bell } from '../../../src/store/bell.ts'
import { pairs } from '../../../src/store/fields.ts'
import type { Ring } from '../../../src/store/rings.ts'
import { useStore, view } from '../../kit/store/store.ts'

const store = useStore()

let bell: Bell
let listening: Promise<void>
let heard: Ring[]
let onRing = () => {}

beforeEach(async () => {
  heard = []
  bell = new Bell(store().connection, store().keys.bell, systemClock)
  bell.on(ring => {
    heard.push(ring)
    onRing()
  })
  listening = bell.listen()
  await hears(rings => rings.length === 1)
  expect(heard).toEqual([{ what: 'missed' }])
  heard.length = 0
})

afterEach(async () => {
  bell.close()
  store().connection.listening.disconnect()
  await listening
})

/** Resolves once the rings heard so far satisfy the condition. */
function hears(enough: (rings: readonly Ring[]) => boolean): Promise<void> {
  return new Promise(resolve => {
    onRing = () => {
      if (enough(heard)) resolve()
    }
    onRing()
  })
}

const missed = (rings: readonly Ring[]) => rings.some(({ what }) => what === 'missed')

test('the bell passes rings on in order, once', async () => {
  const op = await store().create('ada')
  const { by } = await store().own('ada')
  await store().owners.commit(by, 1, [['info', 'made']], {})
  await store().owners.release(by)
  const next = await store().own('ada')
  await store().owners.finish(next.by, 2, [['complete', 'up']], 'running', {})
  await hears(rings => rings.length === 4)
  expect(heard).toEqual(['accepted', 'events', 'released', 'ended'].map(what => ({ what, subject: labOf('ada'), op })))
})

test('a failure is rung before its end, whichever script writes it', async () => {
  const { compares, owners } = store()
  await store().create('ada')
  await owners.finish((await store().own('ada')).by, 1, [['failed', 'no']], 'failed', {})
  await store().run('bob')
  const pod = { user: 'bob', podUid: 'pod-uid', outcome: 'failed', detail: 'gone', events: [], timeoutMs: 1 } as const
  expect(await compares.settlePod(pod)).toBe(true)
  const mark = await compares.begin('nonce', 1)
  const fields = { view: view('cyd'), namespaceUid: 'ns', podUid: 'pod-uid', podPresent: true }
  const settlement = { user: 'cyd', standing: await compares.standing('cyd'), fields, events: [], lost: [] }
  const outcome = { outcome: 'failed', op: 5, highestOp: 5, timeoutMs: 1 } as const
  expect(await compares.settle(mark, { ...settlement, ...outcome })).toBe('settled')
  const of = (user: string) => heard.filter(({ subject }) => subject?.name === user).map(({ what }) => what)
  await hears(() => of('cyd').includes('ended'))
  for (const user of ['ada', 'bob', 'cyd']) expect(of(user).slice(-2)).toEqual(['failed', 'ended'])
  expect(of('bob').filter(what => what === 'failed')).toHaveLength(1)
})

test('the release before hears the same as this one', async () => {
  const { redis, keys } = store()
  const op = await store().create('ada')
  await store().delete('ada')
  await hears(rings => rings.length === 3)
  await redis.del(keys.generation)
  await store().compare()
  await hears(rings => rings.length === 4)
  const entries = await redis.xrange(keys.bell, '-', '+')
  const before = entries.slice(-4).map(([, flat]) => asBefore(pairs(flat)))
  expect(before).toEqual(
    heard.map(({ what, subject, op }) => ({ what, user: subject ? subject.name : '', op: op ?? 0 })),
  )
  expect(before.slice(0, 2)).toEqual(['accepted', 'ended'].map(what => ({ what, user: 'ada', op })))
})

/** How releases before subjects read an entry. */
const asBefore = (fields: ReadonlyMap<string, string>) => ({
  what: fields.get('what'),
  user: fields.get('user') ?? '',
  op: Number(fields.get('op')),
})

test('what the release before rings is heard between rings of this one', async () => {
  const { redis, keys } = store()
  const op = await store().create('ada')
  const [last] = await redis.xrevrange(keys.bell, '+', '-', 'COUNT', 1)
  const next = `${Number(last![0].split('-')[0]) + 1}-1`
  await redis.xadd(keys.bell, next, 'epoch', last![1][1]!, 'user', 'grace', 'op', '5', 'what', 'released')
  const other = await store().create('mary')
  await hears(rings => rings.length === 3)
  expect(heard).toEqual([
    { what: 'accepted', subject: labOf('ada'), op },
    { what: 'released', subject: labOf('grace'), op: 5 },
    { what: 'accepted', subject: labOf('mary'), op: other },
  ])
})

test('a ring that only a later release makes is ignored, one of another kind is not, and none after it is missed', async () => {
  const { redis, keys } = store()
  await store().create('ada')
  const [last] = await redis.xrevrange(keys.bell, '+', '-', 'COUNT', 1)
  let n = Number(last![0].split('-')[0])
  const epoch = ['epoch', last![1][1]!] as const
  await redis.xadd(keys.bell, `${++n}-1`, ...epoch, 'what', 'members', 'subject', 'group:physics')
  await redis.xadd(keys.bell, `${++n}-1`, ...epoch, 'user', '', 'op', '5', 'what', 'ended', 'subject', 'app:mlflow')
  await store().create('grace')
  await hears(rings => rings.length === 3)
  expect(heard.map(({ what, subject }) => [what, subject])).toEqual([
    ['accepted', labOf('ada')],
    ['ended', { kind: 'app', name: 'mlflow' }],
    ['accepted', labOf('grace')],
  ])
})

test('the bell passes all rings on when many come at once', async () => {
  const users = Array.from({ length: 1200 }, (_, i) => `u${i}`)
  // Sent all at once, a command could exceed its time-out on a busy machine.
  for (let i = 0; i < users.length; i += 200) {
    await Promise.all(users.slice(i, i + 200).map(user => store().create(user)))
  }
  await hears(rings => rings.length >= users.length)
  expect(missed(heard)).toBe(false)
  expect(new Set(heard.map(ring => ring.what === 'accepted' && ring.subject.name)).size).toBe(users.length)
})

test('the bell notices rings that were trimmed before it heard them', async () => {
  const { redis, keys } = store()
  await redis.multi().xadd(keys.bell, '5000-1', 'epoch', 'e', 'user', 'ada', 'op', '1', 'what', 'ended').exec()
  await hears(missed)
})

test('the bell notices that Redis was emptied, though lower numbers cause no wake-up', async () => {
  for (const user of ['ada', 'grace']) await store().create(user)
  await hears(rings => rings.length === 2)
  await store().redis.flushall()
  await hears(missed)
})

test('the bell notices a new bell that rings as often as the old one did', async () => {
  for (const user of ['ada', 'grace']) await store().create(user)
  await hears(rings => rings.length === 2)
  const { redis, keys } = store()
  const ring = (id: number) => ['XADD', keys.bell, `${id}-1`, 'epoch', 'new', 'user', 'u', 'op', '1', 'what', 'ended']
  const count = await store().rings()
  const adds = Array.from({ length: count }, (_, i) => ring(i + 1))
  let transaction = redis.multi().del(keys.bell)
  for (const [, ...args] of adds) transaction = transaction.xadd(...(args as [string, string, string, string]))
  await transaction.exec()
  await hears(missed)
})

test('the bell notices a new bell that has rung more often than the old one', async () => {
  await store().create('ada')
  await hears(rings => rings.length === 1)
  const { redis, keys } = store()
  const last = await store().rings()
  let transaction = redis.multi().del(keys.bell)
  for (let id = 1; id <= last + 3; id++) {
    transaction = transaction.xadd(keys.bell, `${id}-1`, 'epoch', 'new', 'user', 'u', 'op', '1', 'what', 'ended')
  }
  await transaction.exec()
  await hears(missed)
})

test('the bell reports a possible gap when a connection broke', async () => {
  store().connection.listening.disconnect(true)
  await hears(missed)
  heard.length = 0
  await store().create('ada')
  await hears(rings => rings.some(({ what }) => what === 'accepted'))
})

test('the bell calls all listeners when one throws', async () => {
  const off = bell.on(() => {
    throw new Error('a listener broke')
  })
  const later: Ring[] = []
  bell.on(ring => later.push(ring))
  await store().create('ada')
  await hears(rings => rings.length === 1)
  expect(later).toHaveLength(1)
  off()
})
