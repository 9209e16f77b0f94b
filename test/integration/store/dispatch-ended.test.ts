/** What is kept of outputs and of ended containers. Each test ends with the rules of `kit/dispatch/invariants.ts`, which count it all. */
import { expect, test } from 'vitest'
import { shape, useDispatch, view } from '../../kit/dispatch/store.ts'

const dispatch = useDispatch()
type Machine = Awaited<ReturnType<ReturnType<typeof dispatch>['boot']>>

const output = (seq: number, bytes: number) =>
  [seq, { kind: 'output', atMs: 1, stream: 'stdout', base64: Buffer.alloc(bytes, 'x').toString('base64') }] as const
const kib = 1024
/** More than is kept of one output: all of its bytes but some are kept. */
const much = Array.from({ length: 90 }, (_, i) => output(i + 1, 15 * kib))

const machine = async (): Promise<Machine> => {
  const uuid = await dispatch().accept()
  const by = await dispatch().boot(uuid)
  await dispatch().containers.change(uuid, undefined, { cancel: 'only its machine is needed' })
  await dispatch().dropBeyond({ containers: 0 })
  await dispatch().dropBeyond({})
  return by
}

/** A container that runs. */
async function begin(by: Machine): Promise<{ readonly uuid: string; readonly run: number }> {
  const uuid = await dispatch().accept()
  expect(await dispatch().assign(uuid, by.name)).toBe('done')
  const sent = await dispatch().keeping.send(by, uuid)
  if (sent.answer !== 'send') throw new Error(sent.answer)
  return { uuid, run: sent.run }
}

/** A container that has ended, with so many bytes of output. */
async function end(by: Machine, bytes = 0): Promise<string> {
  const { uuid, run } = await begin(by)
  if (bytes > 0) await dispatch().keeping.appendLog(by, uuid, run, [output(1, bytes)])
  await dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: Date.now(), exitCode: 0 })
  return uuid
}

const kept = async () => (await dispatch().containers.counts())!
const isThere = async (uuid: string) => (await dispatch().containers.find(uuid)) !== null
const outputOf = async (uuid: string) => {
  const read = await dispatch().containers.log(uuid, 0)
  return read && (read.dropped ? 'dropped' : read.pieces.reduce((sum, { bytes }) => sum + bytes.length, 0))
}

test('the containers that ended first are dropped, with all they have, when more have ended than are kept', async () => {
  const by = await machine()
  await dispatch().dropBeyond({ containers: 2 })
  const uuids = [await end(by, 10), await end(by), await end(by, 10), await end(by)]
  expect(await Promise.all(uuids.map(isThere))).toEqual([false, false, true, true])
  expect(await dispatch().containers.log(uuids[0]!, 0)).toBeNull()
  expect(await dispatch().told(uuids[0]!)).toEqual([])
  expect(await dispatch().listed()).toEqual(uuids.slice(2))
  expect(await kept()).toMatchObject({ ended: 2 })
  expect(await dispatch().dropBeyond({ containers: 1 })).toBe(1)
  expect(await dispatch().listed()).toEqual(uuids.slice(3))
})

test('containers are dropped some time after their end, and not before', async () => {
  const by = await machine()
  const uuid = await end(by, 10)
  expect(await dispatch().dropBeyond({ keepMs: 60_000 })).toBe(0)
  const { redis, keys } = dispatch().store
  await redis.zincrby(keys.dispatch.ended, -60_000, uuid)
  expect(await dispatch().dropBeyond({ keepMs: 60_000 })).toBe(1)
  expect(await isThere(uuid)).toBe(false)
})

test('a container that ends after Redis’ clock stepped back is kept, and the one that ended first is dropped', async () => {
  const by = await machine()
  await dispatch().dropBeyond({ containers: 2 })
  const [first, second] = [await end(by), await end(by)]
  const { redis, keys } = dispatch().store
  for (const uuid of [first, second]) await redis.zincrby(keys.dispatch.ended, 3_600_000, uuid)
  const third = await end(by)
  expect(await Promise.all([first, second, third].map(isThere))).toEqual([false, true, true])
})

test('the output that ended first is dropped before any container is', async () => {
  const by = await machine()
  const uuids = [await end(by, 15_000), await end(by), await end(by, 15_000), await end(by, 15_000)]
  const { keptBytes } = await kept()
  expect(await dispatch().dropBeyond({ bytes: keptBytes - 1 })).toBe(1)
  expect(await Promise.all(uuids.map(outputOf))).toEqual(['dropped', 0, 15_000, 15_000])
  expect(await dispatch().containers.log(uuids[0]!, 0)).toMatchObject({ ended: true, pieces: [], next: 15_000 })
  // Those of the last three make room for the next one.
  uuids.push(await end(by, 15_000))
  expect(await Promise.all(uuids.map(outputOf))).toEqual(['dropped', 0, 'dropped', 15_000, 15_000])
  expect((await kept()).keptBytes).toBeLessThan(keptBytes)
  expect(await dispatch().dropBeyond({ bytes: 35_000 })).toBe(4)
  expect(await Promise.all(uuids.map(isThere))).toEqual([false, false, true, true, true])
  expect(await Promise.all(uuids.slice(2).map(outputOf))).toEqual(['dropped', 'dropped', 'dropped'])
})

test('what waits or runs stays whole, whatever the limits are', async () => {
  const { uuid, by, run } = await dispatch().sent()
  const waiting = await dispatch().accept()
  await dispatch().keeping.appendLog(by, uuid, run, much)
  expect(await dispatch().dropBeyond({ containers: 0, bytes: 0, keepMs: 0 })).toBe(0)
  const { keptBytes } = await kept()
  // 64 KiB and 1 MiB, and what counts beside the bytes of pieces.
  expect(keptBytes).toBeGreaterThan(1_050_000)
  expect(keptBytes).toBeLessThan(65 * kib + 16 * kib + 1024 * kib + 4096)
  await dispatch().keeping.appendLog(by, uuid, run, [output(91, 15 * kib)])
  expect(await outputOf(uuid)).toBeGreaterThan(0)
  // Its machine is lost: it waits again, with the output of its first run.
  await dispatch().keeping.tell(by, uuid, run, { what: 'running', atMs: 1, gatewayAddress: '' })
  await dispatch().keeping.tell(by, uuid, run, { what: 'lacks' })
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued' })
  await dispatch().dropBeyond({ containers: 0, bytes: 0, keepMs: 0 })
  expect(await outputOf(uuid)).toBeGreaterThan(0)
  expect(await isThere(waiting)).toBe(true)
  await dispatch().containers.change(uuid, undefined, { cancel: 'x' })
  expect(await isThere(uuid)).toBe(false)
  expect(await kept()).toMatchObject({ ended: 0, keptBytes: 0 })
})

test('outputs of what runs drop those of what has ended, and not its records', async () => {
  const by = await machine()
  const uuids = [await end(by, 10_000), await end(by), await end(by)]
  const running = await begin(by)
  await dispatch().dropBeyond({ bytes: 200_000 })
  await dispatch().keeping.appendLog(by, running.uuid, running.run, much)
  await dispatch().check()
  expect((await kept()).keptBytes).toBeGreaterThan(1_000_000)
  expect(await Promise.all(uuids.map(outputOf))).toEqual(['dropped', 0, 0])
  // Records have a quarter at most.
  expect(await dispatch().dropBeyond({ bytes: 80_000 })).toBe(1)
  expect(await Promise.all(uuids.map(isThere))).toEqual([false, true, true])
  await dispatch().keeping.tell(by, running.uuid, running.run, { what: 'ended', atMs: 1, exitCode: 7 })
  expect(await dispatch().found(running.uuid)).toMatchObject({ exitCode: 7, isOutputDropped: true })
})

test('an output that grows by all it may drops as much at once, where outputs are the smallest', async () => {
  const by = await machine()
  for (let i = 0; i < 300; i += 1) await end(by, 1)
  const { uuid, run } = await begin(by)
  const bytes = (await kept()).keptBytes
  expect(await dispatch().dropBeyond({ bytes })).toBe(0)
  await dispatch().keeping.appendLog(by, uuid, run, much)
  expect((await kept()).keptBytes).toBeLessThanOrEqual(bytes)
  expect((await kept()).ended).toBe(300)
})

test('limits that are lowered by far are reached in parts', async () => {
  const by = await machine()
  for (let i = 0; i < 310; i += 1) await end(by)
  expect(await dispatch().dropBeyond({ containers: 1 })).toBe(309)
  expect(await kept()).toMatchObject({ ended: 1 })
})

test('the counts are exact when replicas write and drop at once', async () => {
  await dispatch().dropBeyond({ containers: 5, bytes: 100_000 })
  const running = []
  for (let i = 0; i < 6; i += 1) running.push(await dispatch().sent({ view: view(`u${i}`) }))
  await Promise.all(
    running.flatMap(({ uuid, by, run }, i) => [
      ...[1, 2, 3].map(n => dispatch().keeping.appendLog(by, uuid, run, [output(n, 5_000 * i + 1)])),
      dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: 1, exitCode: i }),
      dispatch().dropBeyond({ containers: 5, bytes: 100_000 }),
    ]),
  )
  expect((await kept()).ended).toBeLessThanOrEqual(5)
  expect((await kept()).keptBytes).toBeLessThanOrEqual(100_000)
})

test('a run whose record was dropped after its end is told to nobody, and its container never runs again', async () => {
  const by = await machine()
  const { uuid, run } = await begin(by)
  const { sealedSpec } = (await dispatch().keeping.send(by, uuid)) as { sealedSpec: string }
  await dispatch().containers.change(uuid, undefined, { cancel: 'no' })
  await dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: 1 })
  await dispatch().dropBeyond({ containers: 0 })
  // Its keeper died before the runner heard that this is known.
  const found = { uuid, run, view: { ...view(), uuid }, shape: shape(), priority: 500, sealedSpec, running: true }
  const ended = { ...found, startedMs: 1, end: { atMs: 1 } }
  expect(await dispatch().keeping.adopt(by, ended)).toBe('other')
  expect(await isThere(uuid)).toBe(false)
})

test('a full Redis drops what is too much', async () => {
  const by = await machine()
  for (let i = 0; i < 5; i += 1) await end(by, 10_000)
  const { redis } = dispatch().store
  const { keptBytes } = await kept()
  await redis.config('SET', 'maxmemory', '1')
  try {
    await expect(dispatch().accept()).rejects.toThrow('its memory is full')
    expect(await dispatch().dropBeyond({ containers: 2 })).toBe(3)
    expect(await dispatch().dropBeyond({ containers: 2 })).toBe(0)
  } finally {
    await redis.config('SET', 'maxmemory', '0')
  }
  expect((await kept()).keptBytes).toBeLessThan(keptBytes)
})

test('nothing is dropped before the data were compared', async () => {
  const by = await machine()
  const uuid = await end(by)
  const { redis, keys } = dispatch().store
  const identity = (await redis.hget(keys.dispatch.generation, 'identity'))!
  await redis.hset(keys.dispatch.generation, 'identity', 'another')
  await expect(dispatch().dropBeyond({ containers: 0 })).rejects.toThrow('compared')
  await redis.hset(keys.dispatch.generation, 'identity', identity)
  expect(await isThere(uuid)).toBe(true)
})

test('one script drops no more than two full outputs, or a little more', async () => {
  const by = await machine()
  for (let i = 0; i < 4; i += 1) {
    const { uuid, run } = await begin(by)
    await dispatch().keeping.appendLog(by, uuid, run, much)
    await dispatch().keeping.tell(by, uuid, run, { what: 'ended', atMs: 1, exitCode: 0 })
  }
  const { connection, keys } = dispatch().store
  const drop = () =>
    connection.run('keep-ended', [keys.dispatch.generation], identity => [identity, 60_000, 0, 10 ** 9])
  expect([await drop(), await drop(), await drop()]).toEqual([2, 2, 0])
})

test('what ended is listed in the order of the ends, with its tenant and its cost, from a time on', async () => {
  const by = await machine()
  const uuids = [await end(by), await end(by)]
  const waited = await dispatch().accept({ shape: shape({}, { tenant: 'blue' }) })
  await dispatch().containers.change(waited, undefined, { cancel: 'nobody wants it' })
  const all = await dispatch().ended.from(0, 100)
  expect(all.map(({ uuid }) => uuid)).toEqual([...uuids, waited])
  const first = await dispatch().found(uuids[0]!)
  expect(all[0]).toMatchObject({ tenant: 'default', instanceType: 'small', pricePerHour: first.pricePerHour })
  expect(all[0]).toMatchObject({ startedMs: first.startedMs, finishedMs: first.finishedMs })
  expect(all[2]).toMatchObject({ tenant: 'blue', startedMs: 0, cost: 0 })
  expect((await dispatch().ended.from(all[1]!.endedMs, 100)).map(({ uuid }) => uuid)).toContain(uuids[1])
  expect(await dispatch().ended.from(all[2]!.endedMs + 1, 100)).toEqual([])
  expect(await dispatch().ended.from(0, 1)).toHaveLength(1)
})
