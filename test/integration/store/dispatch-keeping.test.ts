/** Keepers of machines: each write is fenced, and told twice it is told once. Each test ends with the rules of the kit. */
import { expect, test } from 'vitest'
import type { Told } from '../../../src/store/dispatch/keeping.ts'
import { container, maxDispatchAttempts, shape, useDispatch, view } from '../../kit/dispatch/store.ts'

const dispatch = useDispatch()
const keeping = () => dispatch().keeping
const ended = (more: object = { exitCode: 0 }): Told => ({ what: 'ended', atMs: Date.now(), ...more })
const running: Told = { what: 'running', atMs: 1, gatewayAddress: '10.0.0.1:4443', gatewayPin: 'a'.repeat(64) }

test('a container is sent, runs and is complete, and its machine is idle again', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const { keys, redis } = dispatch().store
  expect(run).toBe(Number(await redis.get(keys.dispatch.last)))
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Locked', run, instanceType: 'small', pricePerHour: 0.1 })
  expect(await dispatch().machine(by.name)).toMatchObject({
    state: 'running',
    containers: [{ uuid, run, need: shape().need }],
    lastContainer: uuid,
  })
  expect(await keeping().tell(by, uuid, run, running)).toBe('told')
  const before = await dispatch().found(uuid)
  expect(before).toMatchObject({
    state: 'Running',
    runs: 1,
    gatewayAddress: '10.0.0.1:4443',
    gatewayPin: 'a'.repeat(64),
  })
  // Its clock is believed from the sending on.
  expect(Math.abs(before.startedMs - Date.now())).toBeLessThan(60_000)
  expect(await keeping().tell(by, uuid, run, ended({ exitCode: 7 }))).toBe('told')
  await dispatch().check()
  expect(await keeping().tell(by, uuid, run, ended({ exitCode: 8 }))).toBe('told')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Complete', exitCode: 7, trouble: '' })
  const brief = await dispatch().machine(by.name)
  expect(brief).toMatchObject({ state: 'idle', containers: [], lastContainer: uuid })
  expect(brief.busyMs).toBeGreaterThan(0)
  expect((await dispatch().told(uuid)).map(([event, { state }]) => [event, state])).toEqual(
    ['Queued', 'Locked', 'Running', 'Complete'].map(state => ['state', state]),
  )
})

test('send answers the same machine with the same run, and nobody else', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const again = await keeping().send(by, uuid)
  expect(again).toMatchObject({ answer: 'send', run, owner: 'ada', view: { uuid }, priority: 500 })
  expect(again).toMatchObject({ sealedSpec: `spec first container:${uuid}`, shape: { tenant: 'default' } })
  const other = await dispatch().boot(await dispatch().accept())
  expect(await keeping().send(other, uuid)).toEqual({ answer: 'changed' })
  expect((await keeping().read(by)).cancelled.size).toBe(0)
  await dispatch().containers.change(uuid, undefined, { cancel: 'no' })
  expect(await keeping().send(by, uuid)).toEqual({ answer: 'cancelled' })
  expect((await keeping().read(by)).cancelled).toEqual(new Map([[uuid, 'no']]))
})

test('a machine gets the container whose turn it is when that came after it was assigned', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const [by, other] = [await dispatch().boot(first), await dispatch().boot(second)]
  const urgent = await dispatch().accept({ priority: 900 })
  expect(await keeping().send(other, second)).toEqual({ answer: 'changed' })
  expect((await dispatch().machine(other.name)).containers).toMatchObject([{ uuid: urgent, run: 0 }])
  expect(await dispatch().found(second)).toMatchObject({ state: 'Queued', machine: '' })
  expect(await keeping().send(other, urgent)).toMatchObject({ answer: 'send' })
  expect(await keeping().send(by, first)).toMatchObject({ answer: 'send' })
})

test('two machines change containers when the one that is ready has the later one', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const [slow, quick] = [await dispatch().own(await dispatch().create(first)), await dispatch().boot(second)]
  expect(await keeping().send(quick, second)).toEqual({ answer: 'changed' })
  expect((await dispatch().machine(quick.name)).containers).toMatchObject([{ uuid: first }])
  expect((await dispatch().machine(slow.name)).containers).toMatchObject([{ uuid: second }])
  expect(await keeping().send(quick, first)).toMatchObject({ answer: 'send' })
  await keeping().keep(slow, { instance: 'i-slow', state: 'idle', asked: true })
  expect(await keeping().send(slow, second)).toMatchObject({ answer: 'send' })
  const states = (await dispatch().told(second)).map(([, { state }]) => state)
  expect(states).toEqual(['Queued', 'Locked', 'Queued', 'Locked'])
})

test('a machine keeps its container when the one before it is at another machine that is ready', async () => {
  const [first, second] = [await dispatch().accept(), await dispatch().accept()]
  const [one, other] = [await dispatch().boot(first), await dispatch().boot(second)]
  expect(await keeping().send(other, second)).toMatchObject({ answer: 'send' })
  expect(await keeping().send(one, first)).toMatchObject({ answer: 'send' })
})

test('a machine keeps its container when the one before it needs something else', async () => {
  await dispatch().accept({ priority: 900, shape: shape({ vcpus: 2 }) })
  const uuid = await dispatch().accept()
  const by = await dispatch().boot(uuid)
  expect(await keeping().send(by, uuid)).toMatchObject({ answer: 'send' })
})

test('send says how long a container has waited, unless it has begun before', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const { queuedMs } = await dispatch().found(uuid)
  const { waitedMs } = (await keeping().send(by, uuid)) as { waitedMs: number }
  expect(waitedMs).toBeGreaterThanOrEqual(0)
  // Both clocks are of this computer.
  expect(waitedMs).toBeLessThanOrEqual(Date.now() - queuedMs + 5)
  await keeping().tell(by, uuid, run, running)
  expect(await keeping().send(by, uuid)).toMatchObject({ answer: 'send', run, waitedMs: undefined })
})

test('nothing is sent to a machine that ends, is held, drained or broken, or has it no more', async () => {
  const uuid = await dispatch().accept()
  const by = await dispatch().boot(uuid)
  await keeping().keep(by, { broken: 'no docker' })
  expect(await keeping().send(by, uuid)).toEqual({ answer: 'broken' })
  await keeping().keep(by, { broken: '' })
  for (const answer of ['hold', 'drain'] as const) {
    await dispatch().machines.setBehavior(by.name, answer)
    expect(await keeping().send(by, uuid)).toEqual({ answer: 'changed' })
    await dispatch().machines.setBehavior(by.name, 'run')
    expect(await dispatch().assign(uuid, by.name)).toBe('done')
  }
  // No script writes such a brief: the last look before sending refuses it nevertheless.
  const { redis, keys } = dispatch().store
  const brief = (await redis.hget(keys.dispatch.briefs, by.name))!
  for (const [answer, more] of [
    ['hold', { idleBehavior: 'hold' }],
    ['drain', { idleBehavior: 'drain' }],
    ['ending', { ending: 'x' }],
  ] as const) {
    await redis.hset(keys.dispatch.briefs, by.name, JSON.stringify({ ...JSON.parse(brief), ...more }))
    expect(await keeping().send(by, uuid)).toEqual({ answer })
  }
  await redis.hset(keys.dispatch.briefs, by.name, brief)
  await keeping().keep(by, { ending: 'no' })
  expect(await keeping().send(by, uuid)).toEqual({ answer: 'changed' })
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued' })
})

test('an epoch that a machine has heard is believed up to a day beyond Redis’ clock', async () => {
  const by = await dispatch().boot(await dispatch().accept())
  const heard = by.epoch + 3_600_000_000
  expect(await keeping().floor(by, heard)).toBe(true)
  expect(await keeping().floor(by, heard - 9)).toBe(true)
  expect(await keeping().floor(by, heard + 2 * 86_400_000_000)).toBe(false)
  expect(await keeping().floor(by, Number.MAX_SAFE_INTEGER)).toBe(false)
  const next = await dispatch().own(by.name)
  expect(next.epoch).toBe(heard + 1)
  await expect(keeping().floor(by, heard + 5)).rejects.toThrow('another owner')
})

test('a former owner of a machine writes nothing', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const next = await dispatch().own(by.name)
  expect(next.epoch).toBeGreaterThan(by.epoch)
  const before = await dispatch().found(uuid)
  for (const write of [
    () => keeping().read(by),
    () => keeping().keep(by, { broken: 'x' }),
    () => keeping().send(by, uuid),
    () => keeping().tell(by, uuid, run, ended()),
    () => keeping().appendLog(by, uuid, run, []),
    () => keeping().gone(by),
  ]) {
    await expect(write()).rejects.toThrow('another owner')
  }
  expect(await dispatch().found(uuid)).toEqual(before)
  expect(await keeping().tell(next, uuid, run, running)).toBe('told')
})

test('a run that is not the present one of this machine changes nothing', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const other = await dispatch().sent()
  expect(await keeping().tell(other.by, uuid, run, ended())).toBe('other')
  expect(await keeping().tell(by, uuid, run + 1, ended())).toBe('other')
  expect(await keeping().tell(by, uuid, run - 1, ended())).toBe('other')
  expect(await keeping().tell(by, 'zzzzz-dz642-000000000000000', run, ended())).toBe('other')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Locked' })
})

test('a run that did not begin is sent again as often as allowed, in its former place', async () => {
  const { uuid, by } = await dispatch().sent()
  const { queuedMs } = await dispatch().found(uuid)
  for (let attempt = 1; attempt <= maxDispatchAttempts; attempt += 1) {
    if (attempt > 1) expect(await dispatch().assign(uuid, by.name)).toBe('done')
    const sent = await keeping().send(by, uuid)
    const run = 'run' in sent ? sent.run : 0
    expect(await keeping().tell(by, uuid, run, { what: 'lacks' })).toBe('told')
    expect(await keeping().tell(by, uuid, run, { what: 'lacks' })).toBe('told')
    const state = attempt < maxDispatchAttempts ? 'Queued' : 'Cancelled'
    expect(await dispatch().found(uuid)).toMatchObject({ state, attempts: attempt, runs: 0, queuedMs, priority: 500 })
    await dispatch().check()
  }
})

test('a run that ended without a result is run again as often as it may be', async () => {
  const { uuid, by } = await dispatch().sent({ view: view('ada', 2) })
  for (const state of ['Queued', 'Cancelled']) {
    if (state === 'Cancelled') expect(await dispatch().assign(uuid, by.name)).toBe('done')
    const sent = await keeping().send(by, uuid)
    const run = 'run' in sent ? sent.run : 0
    await keeping().tell(by, uuid, run, running)
    await keeping().tell(by, uuid, run, ended({ reason: 'out of memory' }))
    expect(await dispatch().found(uuid)).toMatchObject({ state, trouble: 'out of memory', exitCode: undefined })
    await dispatch().check()
  }
  expect(await dispatch().found(uuid)).toMatchObject({ runs: 2, attempts: 0 })
})

test('what was to be killed, or ran too long, is cancelled at its end, with its exit code', async () => {
  for (const told of [ended({ exitCode: 137 }), ended({}), { what: 'lacks' } as const]) {
    const { uuid, by, run } = await dispatch().sent()
    await keeping().tell(by, uuid, run, running)
    await dispatch().containers.change(uuid, undefined, { cancel: 'its owner wants so' })
    await keeping().tell(by, uuid, run, told)
    const exitCode = 'exitCode' in told ? told.exitCode : undefined
    expect(await dispatch().found(uuid)).toMatchObject({ state: 'Cancelled', trouble: 'its owner wants so', exitCode })
  }
  const { uuid, by, run } = await dispatch().sent()
  await keeping().tell(by, uuid, run, ended({ exitCode: 137, timedOut: true }))
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Cancelled', exitCode: 137, runs: 1 })
})

test('when a machine is gone, what it ran is queued again, and what was assigned is too', async () => {
  const sent = await dispatch().sent()
  await keeping().tell(sent.by, sent.uuid, sent.run, running)
  const locked = await dispatch().sent()
  const assigned = await dispatch().accept()
  const by = await dispatch().boot(assigned)
  for (const owner of [sent.by, locked.by, by]) {
    await keeping().gone(owner)
    await dispatch().check()
    await keeping().gone(owner)
    await dispatch().owners.finish(owner, 0, [], 'gone', {})
  }
  expect(await dispatch().found(sent.uuid)).toMatchObject({ state: 'Queued', runs: 1, attempts: 0 })
  expect(await dispatch().found(locked.uuid)).toMatchObject({ state: 'Queued', runs: 0, attempts: 1 })
  expect(await dispatch().found(assigned)).toMatchObject({ state: 'Queued', runs: 0, attempts: 0 })
  expect(await dispatch().machines.list()).toEqual([])
  await expect(keeping().keep(by, { broken: 'x' })).rejects.toThrow('gone')
})

test('keep writes facts and what is seen of a machine, and a probe is no new version', async () => {
  const by = await dispatch().own(await dispatch().create(await dispatch().accept()))
  const facts = { hostKey: 'ssh-ed25519 "x"', place: 'subnet-1' }
  await keeping().keep(by, { ...facts, instance: 'i-1', address: '10.0.0.1:22', state: 'booting', missing: true })
  const read = await keeping().read(by)
  expect(read.facts).toMatchObject(facts)
  expect(Math.abs(read.facts.missingSinceMs - read.nowMs)).toBeLessThan(5_000)
  expect(read.brief).toMatchObject({ state: 'booting', instance: 'i-1', address: '10.0.0.1:22', probedMs: 0 })
  const since = read.facts.missingSinceMs
  await keeping().keep(by, { missing: true })
  expect((await keeping().read(by)).facts.missingSinceMs).toBe(since)
  const probed = await keeping().keep(by, { missing: false, probed: true })
  expect((await keeping().read(by)).facts.missingSinceMs).toBe(0)
  expect(probed).toMatchObject({ answer: 'kept', brief: { version: read.brief.version } })
  expect((await dispatch().machines.find('i-1'))!.probedMs).toBeGreaterThan(0)
})

test('the end of a machine is kept from the first one, and frees what was not sent', async () => {
  const uuid = await dispatch().accept()
  const by = await dispatch().boot(uuid, 'i-1')
  await dispatch().machines.setBehavior('i-1', 'hold')
  expect(await keeping().keep(by, { ending: 'no' })).toMatchObject({ answer: 'held', brief: { ending: '' } })
  await dispatch().machines.setBehavior('i-1', 'run')
  await dispatch().assign(uuid, by.name)
  expect(await keeping().keep(by, { ending: 'first' })).toMatchObject({ answer: 'kept', brief: { state: 'shutdown' } })
  const again = await keeping().keep(by, { ending: 'second', state: 'idle', idleBehavior: 'drain' })
  expect(again).toMatchObject({ brief: { ending: 'first', state: 'shutdown', idleBehavior: 'run' } })
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued' })
  expect(await dispatch().machines.setBehavior('i-1', 'hold')).toMatchObject({ answer: 'ending' })
})

test('two machines never have one id of the cloud', async () => {
  const first = await dispatch().boot(await dispatch().accept(), 'i-1')
  const second = await dispatch().boot(await dispatch().accept(), 'i-2')
  expect(await keeping().keep(second, { instance: 'i-1', broken: 'x' })).toEqual({ answer: 'taken' })
  expect(await dispatch().machine(second.name)).toMatchObject({ instance: 'i-2', broken: '' })
  await keeping().keep(first, { instance: 'i-3' })
  expect(await dispatch().machines.find('i-1')).toBeUndefined()
})

test('an operator ends also what is held and runs, and no one takes it back', async () => {
  const { uuid, by } = await dispatch().sent()
  await dispatch().machines.setBehavior(by.name, 'hold')
  const killed = await dispatch().machines.kill(by.name, 'operator: "burning"')
  expect(killed).toMatchObject({ answer: 'set', machine: { ending: 'operator: "burning"', state: 'shutdown' } })
  expect(await dispatch().machines.kill(by.name, 'again')).toMatchObject({ answer: 'ending' })
  expect(await dispatch().machines.kill('nobody', 'x')).toEqual({ answer: 'none' })
  // Only proof frees it.
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Locked', machine: by.name })
})

const output = (seq: number, text: string, stream: 'stdout' | 'stderr' = 'stdout') =>
  [seq, { kind: 'output', atMs: 1, stream, base64: Buffer.from(text).toString('base64') }] as const
const logOf = async (uuid: string, after = 0) => {
  const pieces: [number, string, string][] = []
  for (let read = await dispatch().containers.log(uuid, after); read; ) {
    pieces.push(
      ...read.pieces.map(({ at, stream, bytes }) => [at, stream, bytes.toString()] as [number, string, string]),
    )
    if (!read.more) return { pieces, next: read.next, ended: read.ended }
    read = await dispatch().containers.log(uuid, read.next)
  }
  return null
}

test('output is kept in order and once, with its gaps', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const first = [output(2, 'he'), output(3, 'llo'), output(4, 'oh', 'stderr')]
  expect(await keeping().appendLog(by, uuid, run, first)).toBe(4)
  expect(await keeping().appendLog(by, uuid, run, first)).toBe(4)
  expect(
    await keeping().appendLog(by, uuid, run, [...first, [6, { kind: 'lost', atMs: 1, bytes: 10 }], output(7, 'end')]),
  ).toBe(7)
  expect(await logOf(uuid)).toEqual({
    pieces: [
      [0, 'stdout', 'hello'],
      [5, 'stderr', 'oh'],
      [17, 'stdout', 'end'],
    ],
    next: 20,
    ended: false,
  })
  expect(await logOf(uuid, 17)).toMatchObject({ pieces: [[17, 'stdout', 'end']] })
  // A place in a log that was lost.
  expect(await logOf(uuid, 999)).toMatchObject({ next: 20 })
  expect(await keeping().appendLog(by, uuid, run - 1, [output(9, 'x')])).toBe('other')
  await keeping().tell(by, uuid, run, ended())
  expect(await logOf(uuid, 20)).toEqual({ pieces: [], next: 20, ended: true })
  expect(await keeping().appendLog(by, uuid, run, [output(9, 'x')])).toBe('other')
  expect(await dispatch().containers.log('zzzzz-dz642-000000000000000', 0)).toBeNull()
})

test.each([
  { when: 'a part of it is told again with more behind it', told: [output(2, 'he'), output(3, 'llo')] },
  { when: 'all but its first entries are new', told: [output(2, 'he')] },
  { when: 'entries come twice in one part, or out of order', told: [output(2, 'he'), output(2, 'he'), output(1, 'x')] },
])('output is kept once when $when', async ({ told }) => {
  const { uuid, by, run } = await dispatch().sent()
  const all = [output(2, 'he'), output(3, 'llo'), output(4, ' oh'), output(5, 'no', 'stderr')]
  expect(await keeping().appendLog(by, uuid, run, told)).toBe(Math.max(...told.map(([place]) => place)))
  for (let times = 1; times <= 2; times += 1) expect(await keeping().appendLog(by, uuid, run, all)).toBe(5)
  const { pieces, next } = (await logOf(uuid))!
  expect(pieces.map(([, , text]) => text).join('')).toBe('hello ohno')
  expect(next).toBe(10)
})

test('a gap counts once when it is told again between output that is old and new', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const gap = [3, { kind: 'lost', atMs: 1, bytes: 10 }] as const
  expect(await keeping().appendLog(by, uuid, run, [output(2, 'he'), gap, output(4, 'l')])).toBe(4)
  expect(await keeping().appendLog(by, uuid, run, [output(2, 'he'), gap, output(4, 'l'), output(5, 'lo')])).toBe(5)
  expect(await logOf(uuid)).toMatchObject({
    pieces: [
      [0, 'stdout', 'he'],
      [12, 'stdout', 'l'],
      [13, 'stdout', 'lo'],
    ],
    next: 15,
  })
})

test('of much output the beginning and the end are kept', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const size = 15 * 1024
  const text = (n: number) => String(n).padEnd(size, 'x')
  const entries = Array.from({ length: 120 }, (_, i) => output(i + 1, text(i)))
  for (let from = 0; from < entries.length; from += 30) {
    await keeping().appendLog(by, uuid, run, entries.slice(from, from + 30))
  }
  const log = (await logOf(uuid))!
  const numbers = log.pieces.map(([at, , bytes]) => [at / size, Number.parseInt(bytes, 10)])
  for (const [at, n] of numbers) expect(at).toBe(n)
  expect(numbers.slice(0, 4).map(([at]) => at)).toEqual([0, 1, 2, 3])
  expect(numbers.at(-1)![0]).toBe(119)
  const tail = numbers.filter(([at]) => at! > 60).length * size
  expect(tail).toBeLessThanOrEqual(2 ** 20)
  expect(numbers.length * size).toBeGreaterThan(2 ** 20 - 2 * size)
  const { redis, keys } = dispatch().store
  expect(await redis.xlen(keys.dispatch.logTail(uuid))).toBe(numbers.length - 5)
})

test('a machine that says that more was lost than there can be loses no more than its own output', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const lies = Array.from({ length: 5_000 }, (_, i) => [i + 1, { kind: 'lost', atMs: 1, bytes: 2 ** 60 }] as const)
  expect(await keeping().appendLog(by, uuid, run, [...lies, output(5_001, 'x'), output(5_002, 'y', 'stderr')])).toBe(
    5_002,
  )
  expect(await keeping().appendLog(by, uuid, run, [output(5_003, 'z'), [Number.NaN, lies[0]![1]]])).toBe(5_003)
  expect(await keeping().tell(by, uuid, run, ended())).toBe('told')
  expect(await dispatch().containers.log(uuid, 0)).toMatchObject({ ended: true })
})

test('a second run goes on in the same log', async () => {
  const { uuid, by, run } = await dispatch().sent()
  await keeping().appendLog(by, uuid, run, [output(2, 'one')])
  await keeping().tell(by, uuid, run, ended({}))
  await dispatch().assign(uuid, by.name)
  const sent = await keeping().send(by, uuid)
  await keeping().appendLog(by, uuid, 'run' in sent ? sent.run : 0, [output(2, 'two')])
  expect((await logOf(uuid))!.pieces.map(([, , text]) => text)).toEqual(['one', 'two'])
})

test('no run is drawn when the counter is more than a day ahead', async () => {
  const uuid = await dispatch().accept()
  const by = await dispatch().boot(uuid)
  const { redis, keys } = dispatch().store
  await redis.set(keys.dispatch.last, String((Date.now() + 2 * 86_400_000) * 1000))
  await expect(keeping().send(by, uuid)).rejects.toThrow('more than a day')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Locked', run: 0 })
  await redis.set(keys.last, String((Date.now() + 2 * 86_400_000) * 1000))
  await expect(dispatch().containers.accept(container())).rejects.toMatchObject({ status: 503 })
})
