/** Two kinds of subjects on one Redis: the same scripts, and no key, member or ring in common. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { OperationStore } from '../../../src/store/operations.ts'
import { OwnerStore } from '../../../src/store/owners.ts'
import { parseRing, type Ring } from '../../../src/store/rings.ts'
import { creation, deletion, eventsMs, holdMs, sealing, tombstoneMs, ttlMs, useStore } from '../../kit/store/store.ts'
import { toy, toyForm } from '../../kit/toy/context.ts'

const store = useStore()

/** The toys of the store's Redis, with their lease taken and claimed as an engine does. */
function toys() {
  const { connection, keys, redis } = store()
  const family = keys.family(toy)
  const common = { connection, keys, family, sealing }
  const retention = { tombstoneMs, idempotencyMs: 600_000, eventsMs }
  const operations = new OperationStore({ ...common, form: toyForm, retention })
  const times = { clock: systemClock, tombstoneMs, holdMs }
  const owners = new OwnerStore({ ...common, ...times, form: toyForm, drawsEpochs: true })
  const create = async (name: string) => {
    const accepted = await operations.acceptCreate(creation(name, { view: { color: 'red' } }))
    if (accepted.answer !== 'accepted') throw new Error(accepted.answer)
    return accepted.op
  }
  const own = async (name: string, token: string = randomUUID()) => {
    await redis.set(family.lease(name), token, 'PX', ttlMs)
    const claim = (await owners.claim(name, token, ttlMs))!
    return { claim, by: { name, op: claim.record.op, token } }
  }
  return { family, operations, owners, create, own }
}

test('OwnerStore refuses a commit and an extension when the op or the token is of another kind', async () => {
  const { operations, owners, create, own } = toys()
  const labOp = await store().create('ada')
  const toyOp = await create('ada')
  expect(toyOp).toBeGreaterThan(labOp)
  expect(await owners.look(9, true)).toMatchObject({ waiting: [{ name: 'ada', op: toyOp }], owned: [], overdue: [] })
  expect(await store().owners.look(9, true)).toMatchObject({ waiting: [{ name: 'ada', op: labOp }] })

  const lab = await store().own('ada')
  const { by } = await own('ada')
  expect(await store().owners.extend([lab.by], ttlMs)).toEqual([true])
  expect(await owners.extend([by], ttlMs)).toEqual([true])
  // The owner of one cannot write for the other.
  await expect(owners.commit({ ...by, op: labOp }, 1, [], {})).rejects.toThrow('moved on')
  expect(await owners.extend([lab.by], ttlMs)).toEqual([false])

  await owners.commit(by, 1, [['info', 'built']], { homeUid: 'h', step: 'thing' })
  await owners.finish(by, 2, [['complete', 'made']], 'running', { thingUid: 't' })
  expect(await store().eventsOf('ada')).toEqual([[1, 'info', 'begun']])
  expect(await operations.events('ada', undefined, 0)).toMatchObject({
    found: true,
    op: toyOp,
    ended: true,
    lastSeq: 3,
  })
  expect(await store().owners.look(9, true)).toMatchObject({ owned: [{ name: 'ada' }] })
  expect(await owners.look(9, true)).toMatchObject({ waiting: [], owned: [] })
})

test('acceptDelete supersedes a creation of any kind, and its end leaves a tombstone and no member', async () => {
  const { family, operations, owners, create, own } = toys()
  const first = await create('ada')
  const { by: creator } = await own('ada')
  const accepted = await operations.acceptDelete(deletion('ada'))
  expect(accepted).toMatchObject({ answer: 'accepted', superseded: { op: first } })
  await expect(owners.commit(creator, 1, [], {})).rejects.toThrow('moved on')
  await owners.release(creator)
  const { by } = await own('ada')
  await owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
  const { redis } = store()
  expect(await redis.get(family.tombstone('ada'))).toBe(String(accepted!.op))
  const sets = [family.waiting, family.owned, family.deadlines, family.index, family.record('ada'), family.lease('ada')]
  expect(await redis.exists(...sets)).toBe(0)
})

test('claim draws a higher epoch when another owner claims, and the same one when it is sent again', async () => {
  const { family, owners, create, own } = toys()
  await create('ada')
  const { claim, by } = await own('ada', 'first')
  expect(claim.epoch).toBeGreaterThan(0)
  expect((await owners.claim('ada', 'first', ttlMs))!.epoch).toBe(claim.epoch)
  await owners.release(by)
  const { claim: next } = await own('ada', 'second')
  expect(next.epoch).toBeGreaterThan(claim.epoch!)
  expect(await store().redis.get(family.lastEpoch)).toBe(String(next.epoch))
  // Labs draw none.
  await store().create('grace')
  expect((await store().own('grace')).claim).not.toHaveProperty('epoch')
  expect(await store().redis.hexists(store().keys.record('grace'), 'epoch')).toBe(0)
})

test('claim makes nobody the owner, and names the remedy, when its epoch would be ahead of the clock', async () => {
  const { family, owners, create } = toys()
  await create('ada')
  const { redis } = store()
  await redis.set(family.lastEpoch, String(Number.MAX_SAFE_INTEGER))
  await redis.set(family.lease('ada'), 'mine', 'PX', ttlMs)
  await expect(owners.claim('ada', 'mine', ttlMs)).rejects.toThrow('skylab heal')
  expect(await owners.look(9, true)).toMatchObject({ waiting: [{ name: 'ada' }], owned: [] })
})

test('find reads the record by the form of its kind, with the events of its operation', async () => {
  const { operations, owners, create, own } = toys()
  expect(await operations.find('ada')).toBeNull()
  const op = await create('ada')
  const { by } = await own('ada')
  await owners.commit(by, 1, [['info', 'built']], { homeUid: 'h' })
  const { record, events } = (await operations.find('ada'))!
  expect(record).toMatchObject({ op, status: 'pending', homeUid: 'h', thingUid: undefined, sealedPlan: undefined })
  expect(events.map(({ data }) => data)).toEqual(['begun', 'built'])
  expect(await store().labs.find('ada')).toBeNull()
})

test('acceptCreate and acceptDelete refuse what only labs may have', async () => {
  const { operations } = toys()
  const by = '{"user":"ada"}'
  await expect(operations.acceptCreate(creation('ada', { by }))).rejects.toThrow('leave no notes')
  await expect(operations.acceptDelete(deletion('ada', { by }))).rejects.toThrow('leave no notes')
  for (const name of ['', 'a\nb', '\ud83d']) {
    await expect(operations.acceptCreate(creation(name))).rejects.toThrow('not a name')
    await expect(operations.acceptDelete(deletion(name))).rejects.toThrow('not a name')
  }
  const { redis, keys } = store()
  expect(await redis.exists(keys.audit)).toBe(0)
})

test('acceptCreate draws an op for each kind when two have the same nonce', async () => {
  const { operations } = toys()
  const labOp = await store().create('ada', { nonce: 'same' })
  const accepted = await operations.acceptCreate(creation('ada', { nonce: 'same' }))
  expect(accepted).toMatchObject({ answer: 'accepted' })
  expect('op' in accepted && accepted.op).toBeGreaterThan(labOp)
})

test('acceptCreate writes the fields of a lab only for labs', async () => {
  const { family, create } = toys()
  await create('ada')
  await store().create('ada', { provisions: true })
  const { redis, keys } = store()
  expect(await redis.hmget(family.record('ada'), 'pod', 'provisions')).toEqual([null, null])
  expect(await redis.hmget(keys.record('ada'), 'pod', 'provisions')).toEqual(['0', '1'])
})

test('acceptCreate has the plan sealed for the kind and the name', async () => {
  const { family, operations } = toys()
  const sealPlan = (keyId: string, sealedName: string) => `${keyId} ${sealedName}`
  await operations.acceptCreate(creation('ada', { sealPlan }))
  await store().labs.acceptCreate(creation('ada', { sealPlan }))
  const { redis, keys } = store()
  expect(await redis.hget(family.record('ada'), 'plan')).toBe('first toy:ada')
  expect(await redis.hget(keys.record('ada'), 'plan')).toBe('first ada')
})

test('parseRing finds the kind in a ring, and a release that knows only labs finds no user', async () => {
  const { create, own, owners } = toys()
  const before = await store().rings()
  const op = await create('ada')
  const { by } = await own('ada')
  await owners.commit(by, 1, [['info', 'built']], {})
  await owners.finish(by, 2, [['failed', 'no']], 'failed', {})
  const entries = (await store().redis.xrange(store().keys.bell, '-', '+')).slice(-4)
  expect(await store().rings()).toBe(before + 4)
  const rung = ['accepted', 'events', 'failed', 'ended'] as const
  const subject = { kind: toy, name: 'ada' }
  expect(entries.map(([, fields]) => parseRing(fields))).toEqual(rung.map((what): Ring => ({ what, subject, op })))
  for (const [, fields] of entries) expect(fields[fields.indexOf('user') + 1]).toBe('')
})
