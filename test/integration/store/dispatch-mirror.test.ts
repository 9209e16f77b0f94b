/** Containers of Arvados in our queue: the scripts, and the mirror itself on a real Redis, with a stand-in for Arvados. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { MirrorOptions } from '../../../src/arvados/mirror.ts'
import type { MirrorStore } from '../../../src/store/dispatch/mirror.ts'
import { newUuid } from '../../kit/arvados/containers.ts'
import { mirrorOf, mirrorStoreOf, owner, translated } from '../../kit/arvados/mirror.ts'
import { ArvadosServer } from '../../kit/arvados/server.ts'
import { stray, useDispatch, view } from '../../kit/dispatch/store.ts'
import { Keepers, replicaOf } from '../../kit/pool/scheduler.ts'

const dispatch = useDispatch()
const keys = () => dispatch().store.keys.dispatch

describe('the scripts', () => {
  let store: MirrorStore
  beforeEach(async () => {
    store = mirrorStoreOf(dispatch())
    await dispatch().store.redis.set(keys().mirrorLease, 'mine')
  })
  const mirror = async (theirs: string) => {
    const answer = await store.mirror('mine', theirs, translated())
    if (answer.answer !== 'mirrored') throw new Error(answer.answer)
    return answer.uuid
  }

  test('mirror writes one container when it is sent twice, and read tells both names', async () => {
    const uuid = await mirror('u')
    expect(await store.mirror('mine', 'u', translated())).toEqual({ answer: 'known', uuid })
    expect(await dispatch().listed()).toEqual([uuid])
    const { mirrored, unasked } = (await store.read('mine'))!
    expect(mirrored).toEqual([
      {
        ...{ theirs: 'u', uuid, back: false },
        ours: {
          ...{ waits: true, state: 'Queued', priority: 500, attempts: 0, startedMs: 0, finishedMs: 0, trouble: '' },
          ...{ exitCode: undefined, pricePerHour: 0, cancelling: false },
        },
      },
    ])
    expect(unasked).toBe(0)
  })

  test('nothing is written or read when another replica has the lease', async () => {
    const uuid = await mirror('u')
    const lost = 'another replica mirrors Arvados now'
    await expect(store.mirror('former', 'v', translated())).rejects.toThrow(lost)
    await expect(store.settle('former', 'u', uuid, 'back')).rejects.toThrow(lost)
    await expect(store.read('former')).rejects.toThrow(lost)
    await expect(store.check('former')).rejects.toThrow(lost)
    await store.check('mine')
    expect(await dispatch().listed()).toEqual([uuid])
  })

  test('nothing is written when the data were not compared', async () => {
    const uuid = await mirror('u')
    const { redis } = dispatch().store
    await redis.hset(keys().generation, 'identity', 'another')
    expect(await store.mirror('mine', 'v', translated())).toEqual({ answer: 'comparing' })
    expect(await store.settle('mine', 'u', uuid, 'back')).toBe(false)
    expect(await store.read('mine')).toBeNull()
    await expect(store.check('mine')).rejects.toThrow('being compared')
    await dispatch().compare()
  })

  test('mirror waits when containers that wait or run have as many bytes as may be, and counts its own', async () => {
    await mirror('u')
    const bytes = (await dispatch().containers.counts())!.activeBytes
    const full = mirrorStoreOf(dispatch(), 2 * bytes - 1)
    expect(await full.mirror('mine', 'v', translated())).toEqual({ answer: 'full' })
    expect(await full.mirror('mine', 'u', translated())).toMatchObject({ answer: 'known' })
    expect(await mirrorStoreOf(dispatch(), 2 * bytes).mirror('mine', 'v', translated())).toMatchObject({
      answer: 'mirrored',
    })
  })

  test('mirror waits when a machine was not asked what it runs', async () => {
    await dispatch().compare(async mark => void (await dispatch().machines.adopt(stray('i-1'), mark)))
    expect(await store.mirror('mine', 'u', translated())).toEqual({ answer: 'unsure' })
    expect((await store.read('mine'))!.unasked).toBe(1)
  })

  test('settle takes back one that waits, also from its machine, and no other', async () => {
    const sent = await mirror('c')
    const by = await dispatch().boot(sent)
    await dispatch().keeping.send(by, sent)
    const [waiting, assigned] = [await mirror('a'), await mirror('b')]
    await dispatch().create(assigned)
    expect(await store.settle('mine', 'a', waiting, 'back')).toBe(true)
    expect(await store.settle('mine', 'a', waiting, 'back')).toBe(true)
    expect(await store.settle('mine', 'b', assigned, 'back')).toBe(true)
    expect(await store.settle('mine', 'c', sent, 'back')).toBe(false)
    expect(await store.settle('mine', 'a', 'another', 'back')).toBe(false)
    const trouble = 'it was given back to Arvados'
    expect(await dispatch().found(assigned)).toMatchObject({ state: 'Cancelled', trouble })
    const { mirrored } = (await store.read('mine'))!
    expect(mirrored.map(({ theirs, back }) => [theirs, back]).toSorted()).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
    ])
  })

  test('settle forgets one that has ended, and no other', async () => {
    const uuid = await mirror('a')
    expect(await store.settle('mine', 'a', uuid, 'forget')).toBe(false)
    await dispatch().containers.change(uuid, undefined, { cancel: 'enough' })
    expect(await store.settle('mine', 'a', uuid, 'forget')).toBe(true)
    expect(await store.settle('mine', 'a', uuid, 'forget')).toBe(false)
    expect((await store.read('mine'))!.mirrored).toEqual([])
  })

  test('settle remembers what a record names when nothing is remembered', async () => {
    expect(await store.settle('mine', 'a', 'first', 'found')).toBe(true)
    expect(await store.settle('mine', 'a', 'second', 'found')).toBe(false)
    const [found] = (await store.read('mine'))!.mirrored
    expect(found).toEqual({ theirs: 'a', uuid: 'first', back: false, ours: null })
    await store.settle('mine', 'a', 'first', 'forget')
  })

  test('noteOverload tells Redis’ clock to every replica', async () => {
    expect(await store.overloadedMs()).toBe(0)
    await store.noteOverload()
    expect(Math.abs((await store.overloadedMs()) - Date.now())).toBeLessThan(60_000)
  })
})

describe('the mirror', () => {
  let arvados: ArvadosServer
  beforeEach(async () => {
    arvados = await ArvadosServer.start()
  })
  let replicas: { stop(): Promise<void> }[] = []
  // Before the rules are read, part by part: nobody may write meanwhile.
  afterEach(async () => {
    await Promise.all(replicas.map(replica => replica.stop()))
    replicas = []
    await arvados.stop()
  })

  const poll = { timeout: 30_000, interval: 10 }
  const until = (what: () => unknown) => expect.poll(what, poll)
  const stateOf = (uuid: string) => arvados.containers.find(uuid).state
  const errorOf = (uuid: string) => arvados.containers.find(uuid).runtime_status.error
  const historyOf = (uuid: string) => arvados.containers.histories.get(uuid)!
  const entries = () => dispatch().store.redis.hgetall(keys().mirrored)
  const ours = async (theirs: string) => (await entries())[theirs]?.split(' ')[0] ?? ''
  function using(more: Partial<MirrorOptions> = {}) {
    const replica = mirrorOf(dispatch(), arvados, more)
    replicas.push(replica)
    return replica
  }
  /** As a former replica left it. */
  const lockedBefore = () => {
    const { uuid } = arvados.containers.add()
    arvados.containers.lock(uuid, arvados.tokenUuid)
    return uuid
  }
  /** Boots a machine for a container of ours, and begins it there. */
  async function begin(uuid: string) {
    const by = await dispatch().boot(uuid)
    const sent = await dispatch().keeping.send(by, uuid)
    if (sent.answer !== 'send') throw new Error(sent.answer)
    const tell = (told: Parameters<ReturnType<typeof dispatch>['keeping']['tell']>[3]) =>
      dispatch().keeping.tell(by, uuid, sent.run, told)
    await tell({ what: 'running', atMs: Date.now(), gatewayAddress: '' })
    return tell
  }

  test('tells Arvados each state when machines run what it has, though calls fail, and two replicas mirror', async () => {
    let count = 0
    arvados.mishap = () => {
      count += 1
      if (count % 7 === 0) return { kind: 'busy' }
      if (count % 23 === 0) return { kind: 'lost' }
      return count % 37 === 0 ? { kind: 'instead', status: 502, body: '<html>' } : undefined
    }
    const uuids = Array.from({ length: 8 }, () => arvados.containers.add().uuid)
    using()
    using()
    await dispatch().store.redis.del(keys().scheduleLease)
    const rules = { maxInstances: 4, maxConcurrentInstanceCreateOps: 4, timeoutIdleMs: 0 }
    replicas.push(replicaOf(dispatch(), { rules, pollMs: 1_000 }))
    const keepers = new Keepers(dispatch())
    await until(async () => {
      await keepers.step()
      return uuids.map(stateOf)
    }).toEqual(uuids.map(() => 'Complete'))
    for (const uuid of uuids) expect(historyOf(uuid)).toEqual(['Queued', 'Locked', 'Running', 'Complete'])
    expect(new Set(keepers.starts.map(({ uuid }) => uuid)).size).toBe(keepers.starts.length)
    expect(keepers.starts).toHaveLength(uuids.length)
    await until(entries).toEqual({})
  })
  test('adopts a container when a replica locked it and died', async () => {
    const uuid = lockedBefore()
    using()
    await until(() => ours(uuid)).not.toBe('')
    expect(historyOf(uuid)).toEqual(['Queued', 'Locked'])
    expect((await dispatch().found(await ours(uuid))).view).toMatchObject({ owner, arvados_uuid: uuid })
  })

  test('leaves a lock alone until StaleLockTimeout when nobody here knows of it', async () => {
    const uuid = lockedBefore()
    const { calls } = using({ staleLockMs: 60_000 })
    const { uuid: other } = arvados.containers.add()
    await until(() => ours(other)).not.toBe('')
    expect(await ours(uuid)).toBe('')
    expect(calls.filter(call => call.startsWith('unlock'))).toEqual([])
  })

  test('unlocks a container when a replica locked it and died, and nobody wants it now', async () => {
    const uuid = lockedBefore()
    arvados.containers.find(uuid).priority = 0
    using()
    await until(() => stateOf(uuid)).toBe('Queued')
  })

  test('cancels a container that runs when no machine and no record knows of it', async () => {
    const uuid = lockedBefore()
    arvados.containers.update(uuid, { state: 'Running' }, arvados.tokenUuid)
    using()
    await until(() => stateOf(uuid)).toBe('Cancelled')
    expect(errorOf(uuid)).toBe('No machine runs it: its run was lost')
  })

  test('finds a container again when Redis lost which record is its own', async () => {
    const { uuid } = arvados.containers.add()
    using()
    await until(() => ours(uuid)).not.toBe('')
    const tell = await begin(await ours(uuid))
    await until(() => stateOf(uuid)).toBe('Running')
    const before = await ours(uuid)
    await dispatch().store.redis.del(keys().mirrored, keys().mirrorLease)
    await until(() => ours(uuid)).toBe(before)
    await tell({ what: 'ended', atMs: Date.now(), exitCode: 4 })
    await until(() => stateOf(uuid)).toBe('Complete')
    expect(arvados.containers.find(uuid).exit_code).toBe(4)
    expect(await dispatch().listed()).toHaveLength(1)
  })

  test('mirrors and ends nothing when a machine was not asked what it runs', async () => {
    await dispatch().compare(async mark => void (await dispatch().machines.adopt(stray('i-1'), mark)))
    const uuid = lockedBefore()
    const running = lockedBefore()
    arvados.containers.update(running, { state: 'Running' }, arvados.tokenUuid)
    const rounds: number[] = []
    using({ onRound: () => void rounds.push(1) })
    await until(() => rounds.length).toBeGreaterThan(3)
    expect([stateOf(uuid), stateOf(running), await entries()]).toEqual(['Locked', 'Running', {}])
    const by = await dispatch().own((await dispatch().machines.list())[0]!.name)
    await dispatch().keeping.keep(by, { state: 'idle', asked: true })
    await until(() => ours(uuid)).not.toBe('')
  })

  test('gives a container back when a machine did not begin it, and takes it again', async () => {
    const { uuid } = arvados.containers.add()
    using()
    await until(() => ours(uuid)).not.toBe('')
    const first = await ours(uuid)
    const by = await dispatch().boot(first)
    const sent = await dispatch().keeping.send(by, first)
    await dispatch().keeping.tell(by, first, (sent as { run: number }).run, {
      what: 'lacks',
      why: 'it has no docker',
    })
    await until(() => historyOf(uuid)).toEqual(['Queued', 'Locked', 'Queued', 'Locked'])
    await until(() => ours(uuid)).not.toBe(first)
    expect(await dispatch().found(first)).toMatchObject({ state: 'Cancelled', attempts: 1 })
  })

  test('cancels here what Arvados cancelled, deleted, or gave to another dispatcher', async () => {
    const uuids = Array.from({ length: 3 }, () => arvados.containers.add().uuid)
    using()
    await until(async () => Object.keys(await entries()).length).toBe(3)
    const all = await entries()
    const [ended, deleted, given] = uuids as [string, string, string]
    arvados.containers.update(ended, { state: 'Cancelled' }, arvados.tokenUuid)
    arvados.containers.all.delete(deleted)
    arvados.containers.find(given).locked_by_uuid = newUuid('gj3su')
    await until(entries).toEqual({})
    const reasons = await Promise.all(uuids.map(async uuid => (await dispatch().found(all[uuid]!)).trouble))
    expect(reasons).toEqual([
      'it is Cancelled in Arvados',
      'it is not in Arvados any more',
      'it is not locked for Skylab in Arvados any more',
    ])
  })

  test('tells the reason when somebody here cancels it', async () => {
    const { uuid } = arvados.containers.add()
    using()
    await until(() => ours(uuid)).not.toBe('')
    await dispatch().containers.change(await ours(uuid), undefined, { cancel: 'an operator: too large' })
    await until(() => stateOf(uuid)).toBe('Cancelled')
    expect(errorOf(uuid)).toBe('an operator: too large')
  })

  test('leaves what cannot be run here to other dispatchers when the operator wants so', async () => {
    const { uuid } = arvados.containers.add({ priority: 900 })
    const { uuid: next } = arvados.containers.add({ priority: 1 })
    const translate: MirrorOptions['translate'] = ({ priority }) => (priority === 900 ? { why: 'no' } : translated())
    const { calls } = using({ translate, unsupported: 'leave' })
    await until(() => ours(next)).not.toBe('')
    await until(() => calls.filter(call => call === 'list done').length).toBeGreaterThan(6)
    expect(historyOf(uuid)).toEqual(['Queued'])
    expect(calls.filter(call => call === 'get done')).toHaveLength(2)
  })

  test('takes the highest priorities first, and no more than may wait', async () => {
    const uuids = [1, 5, 3].map(priority => arvados.containers.add({ priority }).uuid)
    const { calls } = using({ mostWaiting: 2 })
    await until(() => calls.filter(call => call === 'list done').length).toBeGreaterThan(6)
    expect(uuids.map(stateOf)).toEqual(['Queued', 'Locked', 'Locked'])
    const { uuid } = arvados.containers.add({ priority: 7 })
    await until(() => stateOf(uuid)).toBe('Locked')
  })

  // The others are those of the client and of its knowledge.
  test.each<[string, number, { status: number; body: string }]>([
    ['is no JSON', 3, { status: 200, body: '<html>' }],
    ['has one wrong record', 8, { status: 200, body: '{"items":[{"uuid":1}]}' }],
    ['refuses the token', 2, { status: 401, body: '{"errors":["Not logged in"]}' }],
  ])('ends nothing when the answer to a listing %s', async (_, calls, { status, body }) => {
    const { uuid } = arvados.containers.add()
    const rounds: number[] = []
    using({ onRound: () => void rounds.push(1) })
    await until(() => ours(uuid)).not.toBe('')
    arvados.mishap = ({ path }) => (path === 'containers' ? { kind: 'instead', status, body } : undefined)
    const asked = arvados.asked.length
    await until(() => arvados.asked.length).toBeGreaterThanOrEqual(asked + calls)
    expect(await dispatch().found(await ours(uuid))).toMatchObject({ state: 'Queued', cancelled: '' })
    arvados.mishap = () => undefined
    const { uuid: next } = arvados.containers.add()
    await until(() => ours(next)).not.toBe('')
  })

  test('notes an overload when Arvados answers 503', async () => {
    arvados.mishap = ({ path }) => (path === 'containers' ? { kind: 'busy', retryAfter: 1 } : undefined)
    using()
    await until(() => dispatch().store.redis.exists(keys().overload)).toBe(1)
    arvados.mishap = () => undefined
  })

  test('mirrors no container twice when the owner is asked for by REST too', async () => {
    const { uuid } = arvados.containers.add()
    const other = await dispatch().accept({ view: view('ada') })
    using()
    await until(() => ours(uuid)).not.toBe('')
    expect(await dispatch().listed({ owner })).toEqual([await ours(uuid)])
    expect(await dispatch().listed({ owner: 'ada' })).toEqual([other])
  })
})
