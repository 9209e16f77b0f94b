/** The writes of an owner, from the claim to the end, and the refusal of all others. */
import { describe, expect, test } from 'vitest'
import type { NewEvent } from '../../../src/store/records.ts'
import { info, Store, ttlMs, useStore } from '../../kit/store/store.ts'

const store = useStore()

describe('claim', () => {
  test('needs the lease', async () => {
    await store().create('ada')
    expect(await store().owners.claim('ada', 'nobody', ttlMs)).toBeNull()
    await store().hold('ada', 'mine')
    expect(await store().owners.claim('ada', 'theirs', ttlMs)).toBeNull()
    expect(await store().record('ada')).toMatchObject({ token: '', claims: 0 })
    expect(await store().owners.claim('ada', 'mine', ttlMs)).toMatchObject({ record: { token: 'mine', claims: 1 } })
  })

  test('sent again with its token gets the same answer and counts nothing twice', async () => {
    await store().create('ada')
    const { claim } = await store().own('ada', 'mine')
    const again = await store().owners.claim('ada', 'mine', ttlMs)
    expect(again!.record).toEqual(claim.record)
    expect(again!.record).toMatchObject({ claims: 1, attempts: 1 })
  })

  test('moves the operation from the waiting to the owned ones, and returns the deadline', async () => {
    await store().create('ada', { timeoutMs: 50_000 })
    const { claim } = await store().own('ada')
    expect(claim.remainingMs).toBeGreaterThan(45_000)
    expect(claim.remainingMs).toBeLessThanOrEqual(50_000)
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [], owned: [{ name: 'ada' }], overdue: [] })
  })

  test('of an ended operation returns nothing, and removes its entry', async () => {
    await store().run('ada')
    await store().redis.zadd(store().keys.waiting, 1, 'ada')
    await store().hold('ada', 'mine')
    expect(await store().owners.claim('ada', 'mine', ttlMs)).toBeNull()
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [], owned: [] })
  })

  test('counts an attempt for an owner that comes to act, and none for one that comes to wait', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().owners.commit(by, 1, [], { acting: false, attempts: 0 })
    await store().redis.del(store().keys.lease('ada'))
    expect((await store().own('ada')).claim.record).toMatchObject({ claims: 2, attempts: 0 })
    await store().redis.hset(store().keys.record('ada'), 'acting', '1')
    for (const attempts of [1, 2, 3]) {
      await store().redis.del(store().keys.lease('ada'))
      expect((await store().own('ada')).claim.record.attempts).toBe(attempts)
    }
  })

  test('of an operation found in a restarted Redis waits until former owners have stopped', async () => {
    const found = await store().create('ada')
    await store().redis.hset(store().keys.generation, 'identity', 'another')
    await store().compare(0, 60_000)
    await store().create('grace')
    await store().hold('ada', 'mine')
    expect(await store().owners.claim('ada', 'mine', ttlMs)).toBeNull()
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [{ name: 'grace' }] })
    expect((await store().own('grace')).claim.foundOp).toBe(found)
    await store().redis.del(store().keys.hold)
    expect(await store().owners.claim('ada', 'mine', ttlMs)).toMatchObject({ foundOp: found, record: { op: found } })
  })
})

describe('look', () => {
  test('returns waiting operations by age, up to a limit', async () => {
    const users = ['ada', 'grace', 'joan', 'mary']
    for (const user of users) await store().create(user)
    const look = await store().owners.look(3, false)
    expect(look!.waiting.map(({ name }) => name)).toEqual(users.slice(0, 3))
  })

  test('returns of the owned operations only those with an ended lease, or all', async () => {
    for (const user of ['ada', 'grace']) await store().create(user)
    await store().own('ada')
    await store().own('grace')
    await store().redis.zadd(store().keys.owned, 1, 'grace')
    expect((await store().owners.look(9, false))!.owned).toEqual([{ name: 'grace', beat: 1 }])
    expect((await store().owners.look(9, true))!.owned.map(({ name }) => name)).toEqual(['grace', 'ada'])
  })

  test('returns operations past their deadline, whoever owns them, until they have ended', async () => {
    await store().create('ada', { timeoutMs: -1 })
    expect((await store().owners.look(9, false))!.overdue).toEqual(['ada'])
    const { by, claim } = await store().own('ada')
    expect(claim.remainingMs).toBeLessThan(0)
    expect((await store().owners.look(9, false))!.overdue).toEqual(['ada'])
    await store().owners.finish(by, 1, [['failed', 'late']], 'failed', {})
    expect((await store().owners.look(9, false))!.overdue).toEqual([])
  })
})

describe('extend', () => {
  test('extends all held leases in one call, and returns which are not held', async () => {
    const users = ['ada', 'grace', 'joan', 'mary']
    for (const user of users) await store().create(user)
    const held = await Promise.all(users.map(async user => (await store().own(user)).by))
    await store().redis.set(store().keys.lease('grace'), 'another')
    await store().delete('joan')
    await store().redis.del(store().keys.record('mary'))
    await store().redis.pexpire(store().keys.lease('ada'), 100)
    expect(await store().owners.extend(held, ttlMs)).toEqual([true, false, false, false])
    expect(await store().redis.pttl(store().keys.lease('ada'))).toBeGreaterThan(ttlMs - 1000)
    expect(await store().owners.extend([], ttlMs)).toEqual([])
  })

  test('raises the beat each time, even within a millisecond and with a clock that stepped back', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    const beats = await beatsOf(() => store().owners.extend([by], ttlMs), 50)
    expect(beats).toEqual([...new Set(beats)].sort((a, b) => a - b))
    const ahead = Date.now() + 3_600_000
    await store().redis.zadd(store().keys.owned, ahead, 'ada')
    expect(await beatsOf(() => store().owners.extend([by], ttlMs), 3)).toEqual([ahead + 1, ahead + 2, ahead + 3])
  })

  test('continues above the last owner’s beat after a claim', async () => {
    await store().create('ada')
    await store().own('ada')
    const ahead = Date.now() + 3_600_000
    await store().redis.zadd(store().keys.owned, ahead, 'ada')
    await store().redis.del(store().keys.lease('ada'))
    expect(await beatsOf(() => store().own('ada'), 1)).toEqual([ahead + 1])
  })

  async function beatsOf(act: () => Promise<unknown>, times: number): Promise<number[]> {
    const beats: number[] = []
    for (let i = 0; i < times; i++) {
      await act()
      beats.push(Number(await store().redis.zscore(store().keys.owned, 'ada')))
    }
    return beats
  }
})

describe('free', () => {
  test('frees a lease whose beat is unchanged, and not one whose beat has moved', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    const seen = (await store().owners.look(9, true))!.owned[0]!.beat
    await store().owners.extend([by], ttlMs)
    expect(await store().owners.free('ada', seen, ttlMs)).toBe(false)
    expect(await store().redis.get(store().keys.lease('ada'))).toBe(by.token)
    const still = (await store().owners.look(9, true))!.owned[0]!.beat
    expect(await store().owners.free('ada', still, ttlMs)).toBe(true)
    expect(await store().redis.exists(store().keys.lease('ada'))).toBe(0)
    expect((await store().owners.look(9, true))!.owned).toHaveLength(1)
    expect((await store().own('ada')).claim.record.claims).toBe(2)
  })
})

describe('free, when another replica has won the lease and not yet claimed with it', () => {
  async function wonByAnother(forMs: number): Promise<number> {
    await store().create('ada')
    await store().own('ada')
    const { beat } = (await store().owners.look(9, true))!.owned[0]!
    await store().redis.del(store().keys.lease('ada'))
    await store().hold('ada', 'heir', forMs)
    return beat
  }

  test('leaves the lease alone, though the beat is unchanged', async () => {
    const beat = await wonByAnother(ttlMs)
    expect(await store().owners.free('ada', beat, ttlMs)).toBe(false)
    expect(await store().owners.claim('ada', 'heir', ttlMs)).toMatchObject({ record: { claims: 2 } })
  })

  test('frees the lease when a stepped-back clock would prolong it', async () => {
    const beat = await wonByAnother(3_600_000)
    expect(await store().owners.free('ada', beat, ttlMs)).toBe(true)
    expect((await store().own('ada')).claim.record.claims).toBe(2)
  })
})

describe('commit', () => {
  const events: NewEvent[] = [info('made'), ['progress', '20']]

  test('records fields and appends events, and rings once', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    const rings = await store().rings()
    await store().owners.commit(by, 1, events, { step: 'next', acting: false, attempts: 0, progress: 20 })
    expect(await store().record('ada')).toMatchObject({ step: 'next', attempts: 0, progress: 20, seq: 3 })
    expect(await store().eventsOf('ada')).toEqual([
      [1, 'info', 'begun'],
      [2, 'info', 'made'],
      [3, 'progress', '20'],
    ])
    expect(await store().rings()).toBe(rings + 1)
  })

  test('sent again with its place appends nothing twice', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    for (let i = 0; i < 3; i++) await store().owners.commit(by, 1, events, { step: 'next' })
    expect(await store().eventsOf('ada')).toHaveLength(3)
    expect(await store().record('ada')).toMatchObject({ seq: 3 })
  })

  test('is refused with another token, for another op, after the end, and without a record', async () => {
    const op = await store().create('ada')
    const { by } = await store().own('ada')
    const write = (as = by) => store().owners.commit(as, 1, events, { step: 'stale' })
    await expect(write({ ...by, token: 'another' })).rejects.toThrow('moved on')
    await expect(write({ ...by, op: op - 1 })).rejects.toThrow('moved on')
    await expect(write({ ...by, op: op + 1 })).rejects.toThrow('moved on')
    await store().owners.finish(by, 1, [], 'running', {})
    await expect(write()).rejects.toThrow('moved on')
    await store().redis.del(store().keys.record('ada'))
    await expect(write()).rejects.toThrow('moved on')
    expect(await store().redis.exists(store().keys.record('ada'))).toBe(0)
    expect(await store().redis.xlen(store().keys.events('ada'))).toBe(1)
  })

  test('is refused when the record is older than the events', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().owners.commit(by, 1, events, {})
    await store().redis.hset(store().keys.record('ada'), 'seq', 1)
    await expect(store().owners.commit(by, 3, [info('later')], { step: 'stale' })).rejects.toThrow('moved on')
    await expect(store().owners.finish(by, 3, [], 'running', {})).rejects.toThrow('moved on')
    expect(await store().record('ada')).toMatchObject({ step: '', active: true })
  })

  test('survives half a surrogate pair in a container’s last words', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().owners.commit(by, 1, [info('cut \ud83d')], { failing: 'cut \ud83d' })
    expect((await store().eventsOf('ada'))[1]).toEqual([2, 'info', 'cut \ufffd'])
    expect(await store().record('ada')).toMatchObject({ failing: 'cut \ufffd' })
  })
})

describe('finish', () => {
  test('writes status, last events, index, lease and plan in one step', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().owners.finish(by, 1, [['complete', 'up']], 'running', { podUid: 'p', podPresent: true })
    expect(await store().record('ada')).toMatchObject({
      ...{ status: 'running', active: false, token: '', seq: 2, podUid: 'p', podPresent: true, sealedPlan: undefined },
    })
    expect(await store().labs.running()).toEqual(['ada'])
    expect(await store().redis.exists(store().keys.lease('ada'))).toBe(0)
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [], owned: [], overdue: [] })
    expect(await store().labs.events('ada', undefined, 0)).toMatchObject({ ended: true, lastSeq: 2 })
  })

  test.each(['running', 'failed', 'gone'] as const)('sent again gets the same answer: %s', async outcome => {
    await store().create('ada')
    const { by } = await store().own('ada')
    for (let i = 0; i < 3; i++) await store().owners.finish(by, 1, [['complete', 'done']], outcome, {})
    expect(await store().eventsOf('ada', by.op)).toEqual([
      [1, 'info', 'begun'],
      [2, 'complete', 'done'],
    ])
    await expect(store().owners.finish({ ...by, op: by.op + 1 }, 1, [], outcome, {})).rejects.toThrow('moved on')
  })

  test('by another replica than the owner changes nothing, whatever the outcome', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    const stale = { ...by, token: 'stale' }
    await expect(store().owners.finish(stale, 1, [['failed', 'stale']], 'failed', {})).rejects.toThrow('moved on')
    await store().owners.finish(by, 1, [['complete', 'up']], 'running', {})
    await expect(store().owners.finish(stale, 1, [['failed', 'stale']], 'failed', {})).rejects.toThrow('moved on')
    expect(await store().record('ada')).toMatchObject({ status: 'running', seq: 2 })
  })

  test('leaves a lease alone that another replica has by now', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().redis.set(store().keys.lease('ada'), 'another')
    await store().owners.finish(by, 1, [], 'running', {})
    expect(await store().redis.get(store().keys.lease('ada'))).toBe('another')
  })

  test('of a deletion leaves a tombstone, and keeps its events as long as that', async () => {
    await store().run('ada')
    await store().delete('ada')
    const { by } = await store().own('ada')
    await store().owners.finish(by, 1, [['complete', 'gone']], 'gone', {})
    expect(await store().compares.standing('ada')).toMatchObject({ record: null, tombstone: by.op })
    expect(await store().labs.find('ada')).toBeNull()
    expect(await store().labs.running()).toEqual([])
    expect(await store().compares.users()).toEqual([])
    expect(await store().eventsOf('ada')).toEqual([
      [1, 'info', 'deletion begun'],
      [2, 'complete', 'gone'],
    ])
  })
})

describe('release', () => {
  test('hands an operation over: it waits, nothing is counted, and the next replica may claim at once', async () => {
    const op = await store().create('ada')
    const { by } = await store().own('ada')
    await store().owners.release(by)
    expect(await store().record('ada')).toMatchObject({ token: '', attempts: 0, claims: 1 })
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [{ name: 'ada', op }], owned: [] })
    expect((await store().own('ada')).claim.record).toMatchObject({ attempts: 1, claims: 2 })
    await expect(store().owners.commit(by, 1, [info('stale')], {})).rejects.toThrow('moved on')
  })

  test('sent again changes nothing, even when another replica owns the operation by then', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().owners.release(by)
    const next = await store().own('ada')
    await store().owners.release(by)
    await store().owners.commit(next.by, 1, [info('goes on')], {})
    expect(await store().redis.get(store().keys.lease('ada'))).toBe(next.by.token)
    expect(await store().record('ada')).toMatchObject({ token: next.by.token, attempts: 1 })
  })

  test('returns a lease without a claim only for its holder', async () => {
    await store().hold('ada', 'mine')
    await store().owners.giveBack('ada', 'theirs')
    expect(await store().redis.get(store().keys.lease('ada'))).toBe('mine')
    await store().owners.giveBack('ada', 'mine')
    expect(await store().redis.exists(store().keys.lease('ada'))).toBe(0)
  })

  test('after a refused claim leaves the operation where it was', async () => {
    await store().create('ada')
    const { by } = await store().own('ada')
    await store().redis.hset(store().keys.generation, 'identity', 'another')
    await store().compare(0, 60_000)
    await store().redis.del(store().keys.lease('ada'))
    await store().hold('ada', 'heir')
    expect(await store().owners.claim('ada', 'heir', ttlMs)).toBeNull()
    await store().owners.giveBack('ada', 'heir')
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [], owned: [{ name: 'ada' }] })
    expect(await store().record('ada')).toMatchObject({ token: by.token, attempts: 1 })
  })

  test('after a claim with a lost answer makes the operation wait for the next owner', async () => {
    const op = await store().create('ada')
    await store().own('ada', 'mine')
    await store().owners.giveBack('ada', 'mine')
    expect(await store().owners.look(9, true)).toMatchObject({ waiting: [{ name: 'ada', op }], owned: [] })
    expect(await store().record('ada')).toMatchObject({ token: '', attempts: 0 })
  })
})

test('only one of two owners at once writes: two can hold the lease, but the record has one token', async () => {
  await store().create('ada')
  const first = await store().own('ada')
  await store().redis.del(store().keys.lease('ada'))
  const second = await store().own('ada')
  const writes = await Promise.allSettled(
    [first, second].flatMap(({ by }) =>
      Array.from({ length: 20 }, () => store().owners.commit(by, 1, [info('x')], {})),
    ),
  )
  expect(writes.map(({ status }) => status)).toEqual([...Array(20).fill('rejected'), ...Array(20).fill('fulfilled')])
  expect(await store().eventsOf('ada')).toHaveLength(2)
})

test('ids have no gap, whoever writes', async () => {
  await store().create('ada')
  let { by } = await store().own('ada')
  let seq = 1
  for (let round = 0; round < 30; round++) {
    const batch = Array.from({ length: round % 4 }, (_, i) => info(`${round}.${i}`))
    await store().owners.commit(by, seq, batch, {})
    await store().owners.commit(by, seq, batch, {})
    seq += batch.length
    if (round % 7 !== 0) continue
    await store().owners.release(by)
    ;({ by } = await store().own('ada'))
  }
  expect((await store().eventsOf('ada')).map(([n]) => n)).toEqual(Array.from({ length: seq }, (_, i) => i + 1))
})

test('a second connection of the same installation sees everything', async () => {
  const op = await store().create('ada')
  const other = await Store.open(store().server, /\{(.*)\}/.exec(store().keys.last)![1]!)
  expect((await other.own('ada')).claim.record.op).toBe(op)
  other.close()
})
