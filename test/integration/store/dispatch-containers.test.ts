/** Those who ask for containers: acceptance, changes, listings. Each test ends with the rules of `kit/dispatch/invariants.ts`. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ContainerStore } from '../../../src/store/dispatch/containers.ts'
import { clusterId, container, shape, useDispatch, view } from '../../kit/dispatch/store.ts'
import { sealing } from '../../kit/store/store.ts'

const dispatch = useDispatch()

test('accept writes a container that waits, under a uuid that sorts by age', async () => {
  const uuids = [await dispatch().accept(), await dispatch().accept(), await dispatch().accept()]
  for (const uuid of uuids) expect(uuid).toMatch(/^zzzzz-dz642-[0-9a-z]{15}$/)
  expect(uuids).toEqual(uuids.toSorted())
  expect(await dispatch().found(uuids[0]!)).toMatchObject({
    ...{
      state: 'Queued',
      priority: 500,
      attempts: 0,
      runs: 0,
      run: 0,
      machine: '',
      exitCode: undefined,
      tenant: 'default',
    },
    view: { ...view(), uuid: uuids[0] },
    need: shape().need,
  })
  expect(await dispatch().listed()).toEqual(uuids)
  expect(await dispatch().told(uuids[0]!)).toMatchObject([['state', { state: 'Queued' }]])
})

test('accept answers as before when it is sent again, and says so when a key is used again', async () => {
  const first = container({ idempotency: { key: 'k', bodyHash: 'h' } })
  const accepted = await dispatch().containers.accept(first)
  expect(await dispatch().containers.accept(first)).toEqual(accepted)
  const again = (more: object) => dispatch().containers.accept({ ...first, nonce: randomUUID(), ...more })
  expect(await again({})).toEqual({ ...accepted, answer: 'repeated' })
  expect(await again({ idempotency: { key: 'k', bodyHash: 'other' } })).toEqual({ answer: 'mismatch' })
  expect(await again({ view: view('eve') })).toMatchObject({ answer: 'accepted' })
  expect(await dispatch().listed({ owner: 'ada' })).toHaveLength(1)
})

test('accept refuses an owner who has 1,000 waiting, and nobody else', async () => {
  await dispatch().accept()
  const { redis, keys } = dispatch().store
  await redis.hset(keys.dispatch.counts, 'ada', 1000)
  expect(await dispatch().containers.accept(container())).toEqual({ answer: 'full', of: 'owner', by: 'number' })
  expect(await dispatch().containers.accept(container({ view: view('eve') }))).toMatchObject({ answer: 'accepted' })
  await redis.hset(keys.dispatch.counts, 'ada', 1)
})

test('accept refuses everybody when 100,000 wait', async () => {
  const { redis, keys } = dispatch().store
  const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`u${i}`, '']))
  await redis.hset(keys.dispatch.waiting, many)
  expect(await dispatch().containers.accept(container())).toEqual({ answer: 'full', of: 'all', by: 'number' })
  await redis.del(keys.dispatch.waiting)
})

test('accept seals with the key that is named, and for the uuid', async () => {
  const { redis, keys } = dispatch().store
  await redis.set(keys.sealing, 'second', 'PX', 60_000)
  const uuid = await dispatch().accept({ sealSpec: (...args) => args.join(' ') })
  const spec = await redis.hget(keys.dispatch.containers.record(uuid), 'spec')
  expect(spec).toBe(`second container:${uuid} ${uuid}`)
  await redis.set(keys.sealing, 'foreign', 'PX', 60_000)
  expect(await dispatch().containers.accept(container())).toEqual({ answer: 'sealed' })
  expect((await dispatch().found(uuid)) as object).not.toHaveProperty('sealedSpec')
})

test('nothing is answered before the data were compared', async () => {
  const uuid = await dispatch().accept()
  const { redis, keys } = dispatch().store
  await redis.hset(keys.dispatch.generation, 'identity', 'another')
  const { containers } = dispatch()
  for (const asked of [
    () => containers.accept(container()),
    () => containers.find(uuid),
    () => containers.change(uuid, undefined, { priority: 1 }),
    () => containers.list({ limit: 1 }),
    () => containers.stream(uuid).read(undefined, 0),
    () => containers.log(uuid, 0),
  ]) {
    await expect(asked()).rejects.toMatchObject({ status: 503 })
  }
  expect(await containers.counts()).toBeUndefined()
  await expect(dispatch().machines.setBehavior('x', 'hold')).rejects.toThrow('compared')
  expect(await dispatch().scheduling.read({ perGroup: 1, inAll: 1 })).toBeNull()
})

test('a priority decides the place in the group, and 0 leaves it', async () => {
  const uuids = [await dispatch().accept(), await dispatch().accept(), await dispatch().accept()]
  const [first, second, third] = uuids as [string, string, string]
  const { containers } = dispatch()
  expect(await containers.change(third, 'ada', { priority: 900 })).toBe('changed')
  expect(await containers.change(first, undefined, { priority: 0 })).toBe('changed')
  await dispatch().check()
  const read = await dispatch().scheduling.read({ perGroup: 10, inAll: 10 })
  expect(read!.queue.map(({ uuid }) => uuid)).toEqual([third, second])
  expect(await dispatch().found(first)).toMatchObject({ state: 'Queued', priority: 0 })
  expect(await containers.change(first, 'ada', { priority: 500 })).toBe('changed')
  expect((await dispatch().scheduling.read({ perGroup: 10, inAll: 10 }))!.queue).toHaveLength(3)
})

test('a container whose priority was changed 1,000 times is changed no more by its owner, but stopped and cancelled', async () => {
  const [sent, waiting] = [await dispatch().sent(), await dispatch().accept()]
  const { containers } = dispatch()
  for (const uuid of [waiting, sent.uuid])
    for (let i = 0; (await dispatch().told(uuid)).length < 1000; i += 1)
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => containers.change(uuid, 'ada', { priority: 1 + ((n + i) % 2) })),
      )
  for (const uuid of [waiting, sent.uuid]) {
    const { priority } = await dispatch().found(uuid)
    expect(await containers.change(uuid, 'ada', { priority: 7 })).toBe('often')
    expect(await containers.change(uuid, 'ada', { priority })).toBe('changed')
    expect(await dispatch().found(uuid)).toMatchObject({ priority })
    expect(await containers.change(uuid, undefined, { priority: 3 })).toBe('changed')
    expect(await containers.change(uuid, 'ada', { priority: 0 })).toBe('changed')
  }
  expect(await dispatch().found(sent.uuid)).toMatchObject({ cancelled: 'its priority is 0' })
  expect(await containers.change(waiting, 'ada', { cancel: 'no' })).toBe('changed')
})

test('a change means only the owner’s container', async () => {
  const uuid = await dispatch().accept()
  const { containers } = dispatch()
  expect(await containers.change(uuid, 'eve', { cancel: 'no' })).toBe('none')
  expect(await containers.find(uuid, 'eve')).toBeNull()
  expect(await containers.change(`${uuid.slice(0, -1)}!`, undefined, { cancel: 'no' })).toBe('none')
  expect(await dispatch().found(uuid)).toMatchObject({ state: 'Queued', cancelled: '' })
})

test('a container that waits is cancelled at once, also one that was assigned', async () => {
  const [waiting, assigned] = [await dispatch().accept(), await dispatch().accept()]
  const name = await dispatch().create(assigned)
  const { containers } = dispatch()
  for (const uuid of [waiting, assigned]) {
    expect(await containers.change(uuid, 'ada', { cancel: 'its owner wants so' })).toBe('changed')
    await dispatch().check()
    expect(await containers.change(uuid, 'ada', { cancel: 'again' })).toBe('ended')
    expect(await containers.change(uuid, 'ada', { priority: 1 })).toBe('ended')
    expect(await dispatch().found(uuid)).toMatchObject({ state: 'Cancelled', trouble: 'its owner wants so' })
  }
  expect(await dispatch().machine(name)).toMatchObject({ containers: [], ending: '' })
  const read = await containers.stream(waiting).read(undefined, 0)
  expect(read).toMatchObject({ found: true, ended: true })
})

test('a container that was sent is marked, whether it is cancelled or its priority is 0', async () => {
  const cancelled = await dispatch().sent()
  const stopped = await dispatch().sent()
  expect(await dispatch().containers.change(cancelled.uuid, 'ada', { cancel: 'no' })).toBe('changed')
  expect(await dispatch().containers.change(stopped.uuid, 'ada', { priority: 0 })).toBe('changed')
  expect(await dispatch().containers.change(stopped.uuid, 'ada', { priority: 7 })).toBe('changed')
  expect(await dispatch().found(cancelled.uuid)).toMatchObject({ state: 'Locked', cancelled: 'no' })
  expect(await dispatch().found(stopped.uuid)).toMatchObject({
    state: 'Locked',
    cancelled: 'its priority is 0',
    priority: 7,
  })
})

test('a listing goes by age, by owner and by state', async () => {
  const uuids: string[] = []
  for (const owner of ['ada', 'eve', 'ada', 'ada', 'eve']) uuids.push(await dispatch().accept({ view: view(owner) }))
  await dispatch().containers.change(uuids[2]!, undefined, { cancel: 'no' })
  expect(await dispatch().listed({ owner: 'ada' })).toEqual([uuids[0], uuids[2], uuids[3]])
  expect(await dispatch().listed({ state: 'Queued', owner: 'ada' })).toEqual([uuids[0], uuids[3]])
  expect(await dispatch().listed({ state: 'Queued', owner: 'eve' })).toEqual([uuids[1], uuids[4]])
  expect(await dispatch().listed({ state: 'Cancelled' })).toEqual([uuids[2]])
  expect(await dispatch().listed({ state: 'Cancelled', owner: 'eve' })).toEqual([])
  expect(await dispatch().listed({ state: 'Running' })).toEqual([])
  const page = await dispatch().containers.list({ limit: 2 })
  expect([page.containers.length, page.next]).toEqual([2, uuids[1]])
  expect(await dispatch().listed({ after: page.next! })).toEqual(uuids.slice(2))
})

test('a listing reads nothing of other states, and nothing of other owners where those have more', async () => {
  const { redis, keys } = dispatch().store
  const { index, indexOf, indexIn } = keys.dispatch
  // Older than all, and more than one page looks at.
  const foreign = Array.from({ length: 2_000 }, (_, i) => [0, `zzzzz-dz642-${String(i).padStart(15, '0')}`]).flat()
  const [ofEve, complete] = [indexOf.call(keys.dispatch, 'eve'), indexIn.call(keys.dispatch, 'Complete')]
  for (const key of [index, ofEve, complete]) await redis.zadd(key, ...foreign)
  const waiting = await dispatch().accept({ view: view('eve') })
  const cancelled = await dispatch().accept({ view: view('ada') })
  await dispatch().containers.change(cancelled, undefined, { cancel: 'no' })
  const { containers } = dispatch()
  for (const [query, uuid] of [
    [{ state: 'Queued' }, waiting],
    [{ state: 'Queued', owner: 'eve' }, waiting],
    [{ state: 'Cancelled' }, cancelled],
    [{ owner: 'ada' }, cancelled],
  ] as const) {
    const page = await containers.list({ limit: 100, ...query })
    expect([page.containers.map(({ view }) => view.uuid), page.next]).toEqual([[uuid], undefined])
  }
  expect(await containers.list({ limit: 100 })).toMatchObject({ containers: [], next: expect.any(String) })
  for (const key of [index, ofEve, complete]) await redis.zremrangebyrank(key, 0, 1_999)
})

test('hostile texts are kept as they are', async () => {
  const nasty = '"\\\u0000\u{1f600}\n{}[]%s \u2028 é'
  const uuid = await dispatch().accept({
    view: { ...view('ada:eve*[x]'), command: [nasty, '\ud800'], environment: { [nasty]: nasty } },
    shape: shape({}, { tenant: nasty }),
    idempotency: { key: nasty, bodyHash: nasty },
  })
  await dispatch().create(uuid, { tenant: nasty, type: nasty })
  expect(await dispatch().found(uuid)).toMatchObject({ tenant: nasty, view: { command: [nasty, '\ufffd'] } })
  expect(await dispatch().listed({ owner: 'ada:eve*[x]' })).toEqual([uuid])
  await dispatch().containers.change(uuid, undefined, { cancel: `${nasty}\udfff` })
  expect(await dispatch().found(uuid)).toMatchObject({ trouble: `${nasty}\ufffd` })
})

test('a cancellation whose reply was lost is answered as one that was made', async () => {
  const uuid = await dispatch().accept()
  const { connection } = dispatch()
  const twice: Pick<typeof connection, 'run' | 'read'> = {
    read: connection.read.bind(connection),
    run: async (...call) => {
      await connection.run(...call)
      return connection.run(...call)
    },
  }
  const again = new ContainerStore({
    connection: twice,
    keys: dispatch().store.keys,
    sealing,
    clusterId,
    idempotencyMs: 1,
    activeBytes: 10 ** 6,
  })
  expect(await again.change(uuid, 'ada', { cancel: 'no' })).toBe('changed')
  expect(await again.change(uuid, 'ada', { cancel: 'no' })).toBe('ended')
})
