/** After a loss of data: machines are adopted from the cloud, and containers from what their runners say. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { FoundRun } from '../../../src/store/dispatch/keeping.ts'
import { clusterId, Dispatch, shape, stray, useDispatch, view } from '../../kit/dispatch/store.ts'

const dispatch = useDispatch()
const dayUs = 86_400_000_000
const nowUs = () => Date.now() * 1000
const nameOf = (op: number) => op.toString(36)
const uuidAt = (op: number) => `${clusterId}-dz642-${nameOf(op).padStart(15, '0')}`

const found = (uuid: string, run: number, more: Partial<FoundRun> = {}): FoundRun => ({
  ...{
    uuid,
    run,
    view: { ...view(), uuid },
    shape: shape(),
    priority: 500,
    sealedSpec: 'sealed',
    running: true,
    startedMs: 5,
  },
  ...more,
})

/** Adopts a machine in a compare of an empty Redis; returns its owner. */
async function adopted(instance = `i-${randomUUID()}`, intent = '') {
  await dispatch().store.redis.del(dispatch().store.keys.dispatch.generation)
  let name = ''
  await dispatch().compare(async mark => {
    const answer = await dispatch().machines.adopt(stray(instance, { intent }), mark)
    if (!('name' in answer)) throw new Error(`not adopted: ${answer.answer}`)
    name = answer.name
    expect(await dispatch().machines.doubt(mark)).toBe(true)
  })
  return dispatch().own(name)
}

test('a compare adopts a machine under the name of its tag, and floors the ops', async () => {
  const op = nowUs() + 3_600_000_000
  const by = await adopted('i-1', nameOf(op))
  expect(by.op).toBe(op)
  expect(await dispatch().machine(nameOf(op))).toMatchObject({ state: 'unknown', instance: 'i-1', op, ending: '' })
  expect(Number(await dispatch().store.redis.get(dispatch().store.keys.last))).toBeGreaterThanOrEqual(op)
  expect(await dispatch().accept()).toBe(uuidAt(op + 1))
})

test.each(['', 'UPPER', '0abc', 'a b', '../../x', 'zzzzzzzzzzzz', nameOf(nowUs() + 2 * dayUs)])(
  'a machine with the tag %j gets a name of its own',
  async intent => {
    const by = await adopted('i-1', intent)
    expect(by.name).not.toBe(intent)
    expect(by.op).toBeLessThan(nowUs() + dayUs / 2)
  },
)

test('a machine is adopted once, also a second one of the same intent', async () => {
  const by = await adopted('i-1', nameOf(nowUs()))
  await dispatch().compare(async mark => {
    expect(await dispatch().machines.adopt(stray('i-1'), mark)).toEqual({ answer: 'known', name: by.name })
    const second = await dispatch().machines.adopt(stray('i-2', { intent: by.name }), mark)
    expect(second).toMatchObject({ answer: 'adopted' })
    expect((second as { name: string }).name).not.toBe(by.name)
  })
  expect((await dispatch().machines.list()).map(({ instance }) => instance).toSorted()).toEqual(['i-1', 'i-2'])
})

test('a machine whose intent is over ends at once, and one that is being created is known', async () => {
  const uuid = await dispatch().accept()
  const creating = await dispatch().create(uuid)
  const by = await dispatch().own(await dispatch().create(await dispatch().accept()))
  await dispatch().keeping.gone(by)
  const late = () =>
    dispatch().machines.adopt(stray('i-9', { intent: by.name, idleBehavior: 'hold' }), { sweep: 'mine' })
  const { redis, keys } = dispatch().store
  await redis.set(keys.dispatch.sweepLease, 'mine')
  const answer = await late()
  expect(answer).toMatchObject({ answer: 'late' })
  await dispatch().owners.finish(by, 0, [], 'gone', {})
  expect(await late()).toEqual({ answer: 'known', name: (answer as { name: string }).name })
  const again = await dispatch().machines.adopt(stray('i-8', { intent: by.name }), { sweep: 'mine' })
  expect(again).toMatchObject({ answer: 'late' })
  expect(await dispatch().machines.find('i-9')).toMatchObject({ state: 'shutdown', ending: 'its intent is over' })
  const being = await dispatch().machines.adopt(stray('i-7', { intent: creating }), { sweep: 'mine' })
  expect(being).toEqual({ answer: 'known', name: creating })
  const ends = await dispatch().own(creating)
  await dispatch().keeping.keep(ends, { ending: 'no' })
  const unknown = await dispatch().machines.adopt(stray('i-7', { intent: creating }), { sweep: 'mine' })
  expect(unknown).toMatchObject({ answer: 'late' })
})

test('nobody adopts without the mark or the lease', async () => {
  const { machines } = dispatch()
  expect(await machines.adopt(stray('i-1'), { sweep: 'mine' })).toEqual({ answer: 'unmarked' })
  expect(await machines.adopt(stray('i-1'), { sweep: '' })).toEqual({ answer: 'unmarked' })
  const mark = await dispatch().compare()
  expect(await machines.adopt(stray('i-1'), mark)).toEqual({ answer: 'unmarked' })
  expect(await machines.doubt(mark)).toBe(false)
  const { redis, keys } = dispatch().store
  await redis.set(keys.dispatch.sweepLease, 'mine')
  await redis.hset(keys.dispatch.generation, 'identity', 'another')
  expect(await machines.adopt(stray('i-1'), { sweep: 'mine' })).toEqual({ answer: 'unmarked' })
  await dispatch().compare()
})

test('what a machine runs is written by its warrant, and the counters are above it', async () => {
  const by = await adopted()
  const [op, run] = [nowUs() + 1_000_000_000, nowUs() + 3_600_000_000]
  const uuid = uuidAt(op)
  const gateway = { address: '10.0.0.1:40000', pin: 'a'.repeat(64) }
  const its = shape({}, { tenant: 'physics' })
  expect(await dispatch().keeping.adopt(by, { ...found(uuid, run, { shape: its }), gateway })).toBe('adopted')
  expect(await dispatch().found(uuid)).toMatchObject({ gatewayAddress: gateway.address, gatewayPin: gateway.pin })
  await dispatch().check()
  expect([(await dispatch().found(uuid)).tenant, (await dispatch().machine(by.name)).tenant]).toEqual([
    'physics',
    'physics',
  ])
  expect(await dispatch().keeping.adopt(by, found(uuid, run))).toBe('known')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Running', run, runs: 1, machine: by.name, startedMs: 5 })
  await dispatch().keeping.keep(by, { state: 'idle', asked: true })
  expect(await dispatch().machine(by.name)).toMatchObject({ state: 'running', containers: [{ uuid, run }] })
  expect(await dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: 1, exitCode: 0 })).toBe('told')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Complete' })
  const next = await dispatch().sent()
  expect(next.run).toBeGreaterThan(run)
  expect(next.uuid > uuid).toBe(true)
})

test('a run that the record has as sent is written as begun when its machine runs it', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const { keeping, store } = dispatch()
  const gateway = { address: '10.0.0.1:40000', pin: 'a'.repeat(64) }
  const its = { ...found(uuid, run), gateway }
  const sentMs = Number(await store.redis.hget(store.keys.dispatch.containers.record(uuid), 'sentMs'))
  expect(await keeping.adopt(by, { ...its, running: false })).toBe('known')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Locked', runs: 0 })
  expect(await keeping.adopt(by, its)).toBe('known')
  const begun = await dispatch().found(uuid)
  expect(begun).toMatchObject({ state: 'Running', run, runs: 1, startedMs: sentMs })
  expect(begun).toMatchObject({ gatewayAddress: gateway.address, gatewayPin: gateway.pin })
  await dispatch().check()
  // Told again by its spool, or listed again.
  expect(await keeping.adopt(by, { ...its, startedMs: Date.now(), gateway: undefined })).toBe('known')
  await keeping.tell(by, uuid, run, { what: 'running', atMs: Date.now(), gatewayAddress: '' })
  expect(await dispatch().found(uuid)).toEqual(begun)
  expect((await dispatch().told(uuid)).map(([, { state }]) => state)).toEqual(['Queued', 'Locked', 'Running'])
})

test('a container whose record alone was lost is written anew, with its streams', async () => {
  const { uuid, by, run } = await dispatch().sent()
  await dispatch().keeping.tell(by, uuid, run, { what: 'running', atMs: 1, gatewayAddress: '' })
  const { redis, keys } = dispatch().store
  const d = keys.dispatch
  await redis.del(d.containers.record(uuid), d.sent, d.bytes, d.kept)
  expect(await dispatch().keeping.adopt(by, found(uuid, run))).toBe('adopted')
  expect(await dispatch().told(uuid)).toMatchObject([['state', { state: 'Running' }]])
})

test('numbers that cannot be ours are refused, and floor nothing', async () => {
  const by = await adopted()
  const before = await dispatch().store.redis.get(dispatch().store.keys.dispatch.last)
  for (const [uuid, run] of [
    [uuidAt(nowUs()), nowUs() + 2 * dayUs],
    [uuidAt(nowUs()), 2 ** 53 - 1],
    [uuidAt(nowUs()), Number.NaN],
    [uuidAt(nowUs() + 2 * dayUs), nowUs()],
    [`${clusterId}-dz642-zzzzzzzzzzzzzzz`, nowUs()],
    ['nonsense', nowUs()],
  ] as const) {
    expect(await dispatch().keeping.adopt(by, found(uuid, run))).toBe('ahead')
  }
  expect(await dispatch().store.redis.get(dispatch().store.keys.dispatch.last)).toBe(before)
  expect(await dispatch().listed()).toEqual([])
})

test('the higher run wins, wherever the record had it', async () => {
  const first = await dispatch().sent()
  await dispatch().keeping.tell(first.by, first.uuid, first.run, { what: 'running', atMs: 1, gatewayAddress: '' })
  const by = await adopted()
  const assigned = await dispatch().accept()
  const at = await dispatch().boot(assigned)
  expect(await dispatch().keeping.adopt(by, found(first.uuid, first.run - 1))).toBe('other')
  expect(await dispatch().keeping.adopt(by, found(first.uuid, first.run))).toBe('other')
  expect(await dispatch().keeping.adopt(by, found(first.uuid, first.run + 1))).toBe('adopted')
  expect(await dispatch().found(first.uuid)).toMatchObject({ run: first.run + 1, machine: by.name, state: 'Running' })
  expect((await dispatch().machine(first.by.name)).containers).toEqual([])
  const former = await dispatch().own(first.by.name)
  expect(await dispatch().keeping.tell(former, first.uuid, first.run, { what: 'lacks' })).toBe('other')
  await dispatch().check()
  // One that waits, assigned to another machine, runs here in truth.
  expect(await dispatch().keeping.adopt(by, found(assigned, first.run + 9))).toBe('busy')
  expect(await dispatch().keeping.adopt(at, found(assigned, first.run + 9, { running: false }))).toBe('adopted')
  expect(await dispatch().found(assigned)).toMatchObject({ state: 'Locked', run: first.run + 9 })
})

test('what has ended on a machine is written at once, and takes no place there', async () => {
  const first = await dispatch().sent()
  const by = await adopted()
  const at = await dispatch().own(first.by.name)
  const { keeping } = dispatch()
  const end = { atMs: 7, exitCode: 3 }
  const run = nowUs()
  const [over, crashed, late] = [uuidAt(run - 3), uuidAt(run - 2), uuidAt(run - 1)]
  expect(await keeping.adopt(at, found(over, run, { end }))).toBe('adopted')
  expect(await keeping.adopt(at, found(over, run, { end }))).toBe('other')
  expect(await keeping.adopt(at, found(crashed, run, { end: { atMs: 7, reason: 'out of memory' } }))).toBe('adopted')
  expect(await keeping.adopt(at, found(late, run, { end: { ...end, timedOut: true } }))).toBe('adopted')
  expect(await dispatch().found(over)).toMatchObject({
    state: 'Complete',
    exitCode: 3,
    run,
    instance: expect.any(String),
  })
  expect(await dispatch().found(crashed)).toMatchObject({ state: 'Queued', trouble: 'out of memory', runs: 1 })
  expect(await dispatch().found(late)).toMatchObject({ state: 'Cancelled' })
  expect(await keeping.tell(at, over, run, { what: 'ended', atMs: 1, exitCode: 9 })).toBe('told')
  expect((await dispatch().machine(at.name)).containers).toMatchObject([{ uuid: first.uuid }])
  await dispatch().check()
  // The one that the record has there ended too, so that there is room for what runs.
  expect(await keeping.adopt(at, found(uuidAt(run), run))).toBe('busy')
  expect(await keeping.adopt(at, found(first.uuid, first.run, { end }))).toBe('known')
  expect(await dispatch().found(first.uuid)).toMatchObject({ state: 'Complete', exitCode: 3 })
  expect(await keeping.adopt(at, found(uuidAt(run), run))).toBe('adopted')
  expect(await keeping.adopt(by, found(first.uuid, first.run + 1, { end }))).toBe('other')
})

test('a loss ends all claims, also one of an owner who has noticed nothing', async () => {
  const uuid = await dispatch().accept()
  const by = await dispatch().boot(uuid)
  const { redis, keys } = dispatch().store
  await adopted()
  expect(await redis.get(keys.dispatch.machines.lease(by.name))).toBeNull()
  await expect(dispatch().keeping.keep(by, { asked: true })).rejects.toThrow('another owner')
  expect(await dispatch().owners.extend([by], 1000)).toEqual([false])
  expect((await dispatch().owners.look(10, true))!.waiting).toContainEqual(expect.objectContaining({ name: by.name }))
  const next = await dispatch().own(by.name)
  expect(next.epoch).toBeGreaterThan(by.epoch)
  await dispatch().keeping.keep(next, { asked: true, state: 'idle' })
})

test('what is over stays over, and what else was assigned to the machine waits again', async () => {
  const over = await dispatch().accept()
  await dispatch().containers.change(over, undefined, { cancel: 'no' })
  const assigned = await dispatch().accept()
  const at = await dispatch().boot(assigned)
  expect(await dispatch().keeping.adopt(at, found(over, nowUs()))).toBe('other')
  const other = uuidAt(nowUs())
  expect(await dispatch().keeping.adopt(at, found(other, nowUs()))).toBe('adopted')
  expect(await dispatch().found(assigned)).toMatchObject({ state: 'Queued' })
  expect(await dispatch().machine(at.name)).toMatchObject({ containers: [{ uuid: other }] })
})

test('until all machines were asked, nothing is assigned that may run on one of them', async () => {
  const [waiting, cancelled, assigned] = [
    await dispatch().accept(),
    await dispatch().accept(),
    await dispatch().accept(),
  ]
  const ready = await dispatch().boot(assigned)
  const by = await adopted()
  expect(new Set(await dispatch().machines.unasked())).toEqual(new Set([ready.name, by.name]))
  expect(await dispatch().machine(ready.name)).toMatchObject({ state: 'unknown' })
  const [keeper, create] = [await dispatch().own(ready.name), await dispatch().newMachine()]
  const { containers, keeping } = dispatch()
  await keeping.keep(keeper, { state: 'idle', asked: true })
  expect(await keeping.send(keeper, assigned)).toEqual({ answer: 'wait' })
  expect(await dispatch().write({ what: 'create', container: await dispatch().at(waiting), create })).toEqual(['wait'])
  expect(await dispatch().write({ what: 'fail', container: await dispatch().at(waiting), why: 'x' })).toEqual(['wait'])
  await expect(containers.change(cancelled, undefined, { cancel: 'x' })).rejects.toMatchObject({ status: 503 })
  const foreign = uuidAt(1)
  await expect(containers.find(foreign)).rejects.toMatchObject({ status: 503 })
  // Else the answer would say that somebody else has it.
  await expect(containers.find(cancelled, 'somebody')).rejects.toMatchObject({ status: 503 })
  await expect(containers.log(foreign, 0)).rejects.toMatchObject({ status: 503 })
  await expect(containers.stream(foreign).read(undefined, 0)).rejects.toMatchObject({ status: 503 })
  await expect(containers.change(foreign, undefined, { cancel: 'x' })).rejects.toMatchObject({ status: 503 })
  const back = { container: await dispatch().at(assigned), machine: await dispatch().at(ready.name) }
  expect(await dispatch().write({ what: 'unassign', ...back }, { what: 'assign', ...back })).toEqual(['done', 'wait'])
  // One that came since runs nowhere.
  const young = await dispatch().accept()
  const machine = await dispatch().boot(young)
  expect(await keeping.send(machine, young)).toMatchObject({ answer: 'send' })
  expect(await containers.counts()).toMatchObject({
    waiting: 3,
    sent: 1,
    machines: 3,
    unasked: 1,
    ended: 0,
    keptBytes: 0,
    groups: 1,
  })
  // The last one is gone by proof.
  await keeping.gone(by)
  expect(await dispatch().machines.unasked()).toEqual([])
  expect(await dispatch().containers.find(foreign)).toBeNull()
  expect(await dispatch().assign(waiting, ready.name)).toBe('done')
  expect(await keeping.send(keeper, waiting)).toMatchObject({ answer: 'send' })
})

test('a compare waits until labs’ one is over no more than the other way round', async () => {
  const { store } = dispatch()
  await store.redis.del(store.keys.generation, store.keys.dispatch.generation)
  expect(await dispatch().machines.compared()).toBe(false)
  await dispatch().compare()
  expect([await dispatch().machines.compared(), await store.labs.compared()]).toEqual([true, false])
  await store.compare()
  expect(await store.labs.compared()).toBe(true)
  expect(await new Dispatch(store).machines.compared()).toBe(true)
})
