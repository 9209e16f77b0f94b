/** The scheduler's reads and writes. Each test ends with the rules of `kit/dispatch/invariants.ts`. */
import { expect, test } from 'vitest'
import { calm } from '../../../src/dispatch/throttle.ts'
import type { At, Decision } from '../../../src/store/dispatch/scheduling.ts'
import { shape, useDispatch, view } from '../../kit/dispatch/store.ts'
import { sealing } from '../../kit/store/store.ts'

const dispatch = useDispatch()
const limits = { perGroup: 100, inAll: 1000 }
const reading = async () => (await dispatch().scheduling.read(limits))!

const assignTo = (container: At, machine: At): Decision => ({ what: 'assign', container, machine })

test('read gives groups by need, their first containers in turn, and those that have a machine', async () => {
  const small = [await dispatch().accept(), await dispatch().accept({ priority: 600 }), await dispatch().accept()]
  const big = await dispatch().accept({ shape: shape({ vcpus: 8 }, { supervisor: true, tenant: 'physics' }) })
  const name = await dispatch().create(small[2]!)
  const read = (await dispatch().scheduling.read({ perGroup: 1, inAll: 1000 }))!
  expect(read.groups.map(({ need, count }) => [need.vcpus, count]).toSorted()).toEqual([
    [1, 3],
    [8, 1],
  ])
  const of = new Map(read.queue.map(queued => [queued.uuid, queued]))
  // As many more are read as have a machine.
  expect([...of.keys()].toSorted()).toEqual([...small, big].toSorted())
  expect(of.get(big)).toMatchObject({ supervisor: true, tenant: 'physics', machine: '', attempts: 0 })
  expect(of.get(small[2]!)).toMatchObject({ machine: name, priority: 500 })
  expect(read.machines).toMatchObject([{ name, state: 'creating', containers: [{ uuid: small[2], run: 0 }] }])
  expect(read).toMatchObject({ throttle: calm, throttleVersion: 0, unasked: 0 })
})

test('a machine is created with its operation, and once when it is sent again', async () => {
  const uuid = await dispatch().accept({ shape: shape({}, { tenant: 'physics' }) })
  const create = await dispatch().newMachine({ tenant: 'physics' })
  const decision: Decision = { what: 'create', container: await dispatch().at(uuid), create }
  expect(await dispatch().write(decision)).toEqual(['done'])
  expect(await dispatch().write(decision)).toEqual(['done'])
  expect(await dispatch().machine(create.name)).toMatchObject({
    ...{ name: create.name, op: Number.parseInt(create.name, 36), type: 'small', price: 0.1, tenant: 'physics' },
    ...{ state: 'creating', idleBehavior: 'run', instance: '', containers: [{ uuid, run: 0, supervisor: false }] },
  })
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Locked', machine: create.name, run: 0 })
  const look = await dispatch().owners.look(10, false)
  expect(look!.waiting).toMatchObject([{ name: create.name }])
  const by = await dispatch().own(create.name)
  expect(by.epoch).toBeGreaterThan(by.op)
})

test('a decision is written only for the versions that were read', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const by = await dispatch().boot(first)
  const stale = await dispatch().at(second)
  await dispatch().containers.change(second, undefined, { priority: 1 })
  const machine = await dispatch().at(by.name)
  const create = await dispatch().newMachine()
  expect(
    await dispatch().write(
      { what: 'create', container: stale, create },
      { what: 'fail', container: stale, why: 'no' },
      { what: 'unassign', container: await dispatch().at(first), machine: { ...machine, version: 0 } },
      { what: 'shutdown', machine: { ...machine, version: 0 }, probedMs: 0, why: 'idle' },
      assignTo(stale, machine),
    ),
  ).toEqual(['changed', 'changed', 'changed', 'changed', 'changed'])
  expect(await dispatch().found(second)).toMatchObject({ state: 'Queued', priority: 1 })
})

test('decisions of one pass go on from what earlier ones wrote, also in another call', async () => {
  const uuids = await Promise.all(Array.from({ length: 203 }, () => dispatch().accept()))
  const [first, second, ...rest] = uuids as [string, string, ...string[]]
  const by = await dispatch().boot(first)
  const machine = await dispatch().at(by.name)
  const [old, next] = [await dispatch().at(first), await dispatch().at(second)]
  const fails = await Promise.all(
    rest.map(async uuid => ({ what: 'fail', container: await dispatch().at(uuid), why: 'no' }) as const),
  )
  const [, ...others] = fails
  const decisions: Decision[] = [{ what: 'unassign', container: old, machine }, ...others, assignTo(next, machine)]
  expect(new Set(await dispatch().write(...decisions))).toEqual(new Set(['done']))
  const moved = await dispatch().at(second)
  const now = await dispatch().at(by.name)
  expect(
    await dispatch().write(
      { what: 'unassign', container: moved, machine: now },
      assignTo(await dispatch().at(first), now),
      { what: 'shutdown', machine: now, probedMs: 0, why: 'room' },
    ),
  ).toEqual(['done', 'done', 'done'])
  expect(await dispatch().found(first)).toMatchObject({ state: 'Queued', machine: '' })
  expect(await dispatch().machine(by.name)).toMatchObject({ state: 'shutdown', ending: 'room', containers: [] })
})

test('nothing is written by whoever lost the lease', async () => {
  const uuid = await dispatch().accept()
  const container = await dispatch().at(uuid)
  const create = await dispatch().newMachine()
  await dispatch().schedule('another')
  const { scheduling, token } = { scheduling: dispatch().scheduling, token: dispatch().token }
  expect(await scheduling.write(token, [{ what: 'create', container, create }])).toBeNull()
  expect(await scheduling.explain(token, new Map([['x', 'y']]))).toBe(false)
  expect(await dispatch().machines.list()).toEqual([])
})

test('a machine on hold is neither given away nor ended, whatever was read', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const by = await dispatch().boot(first)
  await dispatch().write({
    what: 'unassign',
    container: await dispatch().at(first),
    machine: await dispatch().at(by.name),
  })
  expect(await dispatch().machines.setBehavior(by.name, 'hold')).toMatchObject({ answer: 'set' })
  const machine = await dispatch().at(by.name)
  expect(
    await dispatch().write(
      assignTo(await dispatch().at(second), machine),
      { what: 'shutdown', machine, probedMs: 0, why: 'idle' },
      { what: 'shutdown', machine, probedMs: 0, why: 'unreachable' },
    ),
  ).toEqual(['held', 'held', 'held'])
  expect(await dispatch().machine(by.name)).toMatchObject({ ending: '', idleBehavior: 'hold' })
})

test('a machine that was asked to run something ends only if it is given up', async () => {
  const { by } = await dispatch().sent()
  const { version, probedMs } = await dispatch().machine(by.name)
  const machine = { id: by.name, version }
  for (const why of ['idle', 'room', 'drain', 'type'] as const) {
    expect(await dispatch().write({ what: 'shutdown', machine, probedMs, why })).toEqual(['changed'])
  }
  await dispatch().keeping.keep(by, { probed: true })
  const unreachable = { what: 'shutdown', machine, probedMs, why: 'unreachable' } as const
  expect(await dispatch().write(unreachable)).toEqual(['changed'])
  const probed = await dispatch().machine(by.name)
  expect(probed.version).toBe(version)
  expect(await dispatch().write({ ...unreachable, probedMs: probed.probedMs })).toEqual(['done'])
  expect(await dispatch().write({ ...unreachable, machine: await dispatch().at(by.name) })).toEqual(['done'])
})

test('nothing is assigned to a machine that ends, is broken, drained or taken', async () => {
  const uuids = [
    await dispatch().accept(),
    await dispatch().accept(),
    await dispatch().accept(),
    await dispatch().accept(),
  ]
  const other = await dispatch().accept()
  const machines = await Promise.all(uuids.map(uuid => dispatch().boot(uuid)))
  for (const [i, by] of machines.slice(0, 3).entries()) {
    const [container, machine] = [await dispatch().at(uuids[i]!), await dispatch().at(by.name)]
    await dispatch().write({ what: 'unassign', container, machine })
  }
  await dispatch().keeping.keep(machines[0]!, { ending: 'the cloud has none' })
  await dispatch().keeping.keep(machines[1]!, { broken: 'no docker' })
  await dispatch().machines.setBehavior(machines[2]!.name, 'drain')
  for (const by of machines) expect(await dispatch().assign(other, by.name)).toBe('changed')
})

test('a machine counts for the tenant of its last container', async () => {
  const of = (tenant: string) => dispatch().accept({ shape: shape({}, { tenant }) })
  const first = await of('physics')
  const name = await dispatch().create(first)
  const { tenant } = await dispatch().machine(name)
  await dispatch().write({
    what: 'unassign',
    container: await dispatch().at(first),
    machine: await dispatch().at(name),
  })
  const kept = (await dispatch().machine(name)).tenant
  const second = await of('biology')
  expect(await dispatch().assign(second, name)).toBe('done')
  const moved = (await dispatch().machine(name)).tenant
  await dispatch().write({ what: 'fail', container: await dispatch().at(second), why: 'no type' })
  expect([tenant, kept, moved, (await dispatch().machine(name)).tenant]).toEqual([
    ...['physics', 'physics', 'biology', 'biology'],
  ])
})

test('a container that fails is cancelled with the reason, and its machine has it no more', async () => {
  const uuid = await dispatch().accept()
  const name = await dispatch().create(uuid)
  expect(await dispatch().write({ what: 'fail', container: await dispatch().at(uuid), why: 'No type fits' })).toEqual([
    'done',
  ])
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Cancelled', trouble: 'No type fits' })
  expect((await dispatch().machine(name)).containers).toEqual([])
})

test('a group has the sentence of the scheduler while it is there', async () => {
  const uuid = await dispatch().accept()
  const [group] = (await reading()).groups
  const sentences = new Map([
    [group!.id, 'It waits: no room'],
    ['gone', 'x'],
  ])
  expect(await dispatch().scheduling.explain(dispatch().token, sentences)).toBe(true)
  expect(await dispatch().found(uuid)).toMatchObject({ status: 'It waits: no room' })
  await dispatch().scheduling.explain(dispatch().token, new Map([[group!.id, '']]))
  expect(await dispatch().found(uuid)).toMatchObject({ status: '' })
  await dispatch().scheduling.explain(dispatch().token, sentences)
  await dispatch().containers.change(uuid, undefined, { cancel: 'no' })
  expect(await dispatch().found(uuid)).toMatchObject({ status: '' })
})

test('names are drawn in a row, and never twice', async () => {
  const [one, two] = [
    await dispatch().scheduling.draw(3, sealing.ids),
    await dispatch().scheduling.draw(2, sealing.ids),
  ]
  const names = [...one!.names, ...two!.names]
  expect(new Set(names).size).toBe(5)
  expect(names).toEqual(names.toSorted())
  expect(await dispatch().scheduling.draw(1, 'foreign')).toMatchObject({ keyId: 'foreign' })
  await dispatch().store.redis.set(dispatch().store.keys.sealing, 'first', 'PX', 60_000)
  expect(await dispatch().scheduling.draw(1, 'foreign')).toBeNull()
})

test('a throttle is written over the version that was read, and once', async () => {
  const { scheduling } = dispatch()
  const throttle = {
    ...{ createAfterMs: 1_795_000_000_123, hurry: true },
    quotas: new Map([['a "b"', { count: 3, untilMs: 5 }]]),
    capacity: new Map([['big', { untilMs: 9, failures: 2 }]]),
  }
  expect(await scheduling.setThrottle(throttle, 0)).toBe(true)
  expect(await scheduling.setThrottle(throttle, 0)).toBe(true)
  expect(await scheduling.setThrottle(calm, 0)).toBe(false)
  expect(await scheduling.throttle()).toMatchObject({ throttle, version: 1 })
  expect(await scheduling.setThrottle(calm, 1)).toBe(true)
  expect(await scheduling.throttle()).toMatchObject({ throttle: calm, version: 2 })
})

test('calls of the cloud are spaced over all replicas, and refused beyond what one may wait', async () => {
  const { scheduling } = dispatch()
  const waits: (number | null)[] = []
  for (let i = 0; i < 5; i += 1) waits.push(await scheduling.reserveCall(1, 2_500))
  expect(waits[0]).toBe(0)
  for (const [i, wait] of waits.slice(1, 3).entries()) expect(Math.abs(wait! - 1000 * (i + 1))).toBeLessThan(500)
  expect(waits.slice(3)).toEqual([null, null])
  // Redis' clock went back.
  const far = String((Date.now() + 3_600_000) * 1000)
  await dispatch().store.redis.set(dispatch().store.keys.dispatch.calls, far)
  expect(await scheduling.reserveCall(1, 2_500)).toBe(0)
})

test('a reading is bounded, and has of each group something', async () => {
  for (let vcpus = 1; vcpus <= 3; vcpus += 1) {
    for (let i = 0; i < 4; i += 1) await dispatch().accept({ shape: shape({ vcpus }), view: view(`u${i}`) })
  }
  const read = (await dispatch().scheduling.read({ perGroup: 100, inAll: 6 }))!
  expect(read.queue).toHaveLength(6)
  expect(new Set(read.queue.map(({ shape }) => shape)).size).toBe(3)
  expect((await dispatch().scheduling.read({ perGroup: 1, inAll: 1 }))!.queue).toHaveLength(3)
})

test('watch tells since when somebody has scheduled when there was no gap, and begins anew after one', async () => {
  const { scheduling, token, store } = dispatch()
  await store.redis.set(store.keys.dispatch.watched, '5')
  expect(await scheduling.watch(token, 60_000)).toBe(5)
  // As Redis does once the gap is over.
  await store.redis.del(store.keys.dispatch.watched)
  expect(await scheduling.watch(token, 60_000)).toBeGreaterThan(5)
  expect(await store.redis.pttl(store.keys.dispatch.watched)).toBeGreaterThan(50_000)
  expect(await scheduling.watch('another', 60_000)).toBeNull()
})
