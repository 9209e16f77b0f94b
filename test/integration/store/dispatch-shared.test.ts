/** Machines that several containers share: places are counted where they are taken, and each container is freed by itself. */
import { expect, test } from 'vitest'
import type { Decision } from '../../../src/store/dispatch/scheduling.ts'
import { Dispatch, maxDispatchAttempts, room, shape, useDispatch } from '../../kit/dispatch/store.ts'

const dispatch = useDispatch()
const keeping = () => dispatch().keeping

/** A machine that was asked to run one container, and has another one. */
async function shared() {
  const first = await dispatch().sent()
  const second = await dispatch().accept()
  expect(await dispatch().assign(second, first.by.name, room)).toBe('done')
  return { ...first, second }
}

const send = async (by: Parameters<Dispatch['keeping']['send']>[0], uuid: string) => {
  const sent = await keeping().send(by, uuid)
  if (sent.answer !== 'send') throw new Error(sent.answer)
  return sent.run
}

test('containers share a machine that has room, and each of them is sent and ends by itself', async () => {
  const { uuid, by, run, second } = await shared()
  expect(await dispatch().machine(by.name)).toMatchObject({
    state: 'running',
    containers: [
      { uuid, run },
      { uuid: second, run: 0 },
    ],
  })
  const other = await send(by, second)
  expect(await keeping().tell(by, uuid, run, { what: 'ended', atMs: 1, exitCode: 0 })).toBe('told')
  expect(await dispatch().machine(by.name)).toMatchObject({
    state: 'running',
    containers: [{ uuid: second, run: other }],
  })
  await keeping().tell(by, second, other, { what: 'ended', atMs: 1, exitCode: 3 })
  expect(await dispatch().machine(by.name)).toMatchObject({ state: 'idle', containers: [] })
  expect([await dispatch().found(uuid), await dispatch().found(second)]).toMatchObject([
    { exitCode: 0 },
    { exitCode: 3 },
  ])
})

test('nobody joins a machine without a word of what it may hold', async () => {
  const { by } = await dispatch().sent()
  expect(await dispatch().assign(await dispatch().accept(), by.name)).toBe('changed')
})

test.each([
  ['places', shape(), room],
  ['processors', shape({ vcpus: 4 }), { ...room, places: 9 }],
  ['memory', shape({ ramBytes: 7 * 2 ** 30 + 1 }), { ...room, places: 9 }],
  ['memory that is kept beside each', shape(), { ...room, places: 9, extraRamBytes: 2 * 2 ** 30 }],
  ['scratch space', shape({ scratchBytes: 1 }), { ...room, places: 9 }],
  ['GPUs', shape({ gpus: 1 }), { ...room, places: 9 }],
])('the script that assigns counts %s of all that the machine has', async (_, need, limits) => {
  const { by } = await shared()
  expect(await dispatch().assign(await dispatch().accept({ shape: need }), by.name, limits)).toBe('changed')
})

test('a container takes a place from its assignment on, whatever was read', async () => {
  const name = await dispatch().create(await dispatch().accept())
  const [second, third] = [await dispatch().accept(), await dispatch().accept()]
  const machine = await dispatch().at(name)
  const assign = async (uuid: string): Promise<Decision> => ({
    ...{ what: 'assign', container: await dispatch().at(uuid), machine, room },
  })
  expect(await dispatch().write(await assign(second), await assign(third))).toEqual(['done', 'changed'])
})

test('a decision that was not carried out leaves no room to the next one', async () => {
  const { by, second } = await shared()
  const [third, machine] = [await dispatch().accept(), await dispatch().at(by.name)]
  const stale = { ...(await dispatch().at(second)), version: 0 }
  const next = await dispatch().at(third)
  expect(
    await dispatch().write(
      { what: 'unassign', container: stale, machine },
      { what: 'assign', container: next, machine, room },
    ),
  ).toEqual(['changed', 'changed'])
})

test('containers of two tenants share no machine', async () => {
  const { by } = await dispatch().sent()
  const other = await dispatch().accept({ shape: shape({}, { tenant: 'physics' }) })
  expect(await dispatch().assign(other, by.name, room)).toBe('changed')
})

test('a machine is created with all that are for it', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const create = await dispatch().newMachine()
  const [container, other] = [await dispatch().at(first), await dispatch().at(second)]
  const machine = { id: create.name, version: 1 }
  const outcomes = await dispatch().write(
    { what: 'create', container, create },
    { what: 'assign', container: other, machine, room },
  )
  expect(outcomes).toEqual(['done', 'done'])
  const { containers } = await dispatch().machine(create.name)
  expect(containers.map(({ uuid }) => uuid)).toEqual([first, second].toSorted())
})

test('a machine is not ended for want of use while one of its containers runs', async () => {
  const { uuid, by, run, second } = await shared()
  await send(by, second)
  await keeping().tell(by, uuid, run, { what: 'ended', atMs: 1, exitCode: 0 })
  const end = async () => {
    const { version, probedMs } = await dispatch().machine(by.name)
    const machine = { id: by.name, version }
    return dispatch().write({ what: 'shutdown', machine, probedMs, why: 'idle' })
  }
  expect(await end()).toEqual(['changed'])
})

test('an operator’s hold spares what was not sent, and leaves what runs', async () => {
  const { uuid, by, run, second } = await shared()
  await dispatch().machines.setBehavior(by.name, 'drain')
  expect((await dispatch().machine(by.name)).containers).toMatchObject([{ uuid, run }])
  expect(await dispatch().found(second)).toMatchObject({ state: 'Queued', machine: '' })
})

test('the end of a machine frees all of its containers, each by its own attempts', async () => {
  const { uuid, by, run, second } = await shared()
  for (let attempt = 1; attempt < maxDispatchAttempts; attempt += 1) {
    const other = await send(by, second)
    await keeping().tell(by, second, other, { what: 'lacks' })
    expect(await dispatch().assign(second, by.name, room)).toBe('done')
  }
  await send(by, second)
  await keeping().tell(by, uuid, run, { what: 'running', atMs: 1, gatewayAddress: '' })
  await keeping().gone(by)
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued', attempts: 0, runs: 1 })
  expect(await dispatch().found(second)).toMatchObject({ state: 'Cancelled', attempts: maxDispatchAttempts })
})

test('a machine that is gone frees what it was asked to run, and what it was not', async () => {
  const { uuid, by, second } = await shared()
  await keeping().gone(by)
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued', attempts: 1 })
  expect(await dispatch().found(second)).toMatchObject({ state: 'Queued', attempts: 0 })
})

test('a keeper is told of each container that is to be killed', async () => {
  const { uuid, by, second } = await shared()
  await send(by, second)
  await dispatch().containers.change(second, undefined, { cancel: 'no' })
  expect((await keeping().read(by)).cancelled).toEqual(new Map([[second, 'no']]))
  await dispatch().containers.change(uuid, undefined, { cancel: 'never' })
  expect((await keeping().read(by)).cancelled.get(uuid)).toBe('never')
})

test('an urgent container of the same need gets the place that is about to be sent', async () => {
  const { uuid, by, second } = await shared()
  const urgent = await dispatch().accept({ priority: 900 })
  expect(await keeping().send(by, second)).toEqual({ answer: 'changed' })
  expect((await dispatch().machine(by.name)).containers.map(each => each.uuid)).toEqual([uuid, urgent].toSorted())
  expect(await dispatch().found(second)).toMatchObject({ state: 'Queued' })
})

test('a container waits for one before it on its machine to be sent, and changes no place with it', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const by = await dispatch().own(await dispatch().create(first))
  await keeping().keep(by, { instance: 'i-1', state: 'booting' })
  expect(await dispatch().assign(second, by.name, room)).toBe('done')
  expect(await keeping().send(by, second)).toEqual({ answer: 'changed' })
  expect((await dispatch().machine(by.name)).containers).toHaveLength(2)
  await send(by, first)
  await send(by, second)
})

test('after a loss a machine gets back all that it runs, as many as may share it', async () => {
  const two = new Dispatch(dispatch().store, dispatch().connection, 2)
  await two.schedule()
  const first = await two.sent()
  const found = { ...(await two.found(first.uuid)), sealedSpec: 's', running: true, startedMs: 5, shape: shape() }
  const lost = async () => {
    const { uuid } = await two.sent()
    const { redis, keys } = two.store
    const record = keys.dispatch.containers.record(uuid)
    const run = Number(await redis.hget(record, 'run'))
    return { ...found, uuid, run: run + 1, view: { ...found.view, uuid } }
  }
  const [second, third] = [await lost(), await lost()]
  const answers = [await two.keeping.adopt(first.by, second), await two.keeping.adopt(first.by, third)]
  expect(answers).toEqual(['adopted', 'busy'])
  expect(await two.keeping.adopt(first.by, third, 3)).toBe('adopted')
  expect((await two.machine(first.by.name)).containers.map(({ uuid }) => uuid)).toEqual(
    [first.uuid, second.uuid, third.uuid].toSorted(),
  )
})
