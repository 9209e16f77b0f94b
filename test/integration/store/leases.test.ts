/** Leases: how one is won on a real Redis, and when its holder stops by its own clock. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { type Lease, LeaseLost, Leases } from '../../../src/leases/leases.ts'
import type { Ownership } from '../../../src/store/owners.ts'
import { ManualClock } from '../../kit/clock.ts'
import { ttlMs, useStore } from '../../kit/store/store.ts'

const store = useStore()

describe('leases on Redis', () => {
  let leases: Leases
  const { clock } = { clock: systemClock }
  const leaseOptions = () => ({
    redis: store().connection.commands,
    owners: store().owners,
    tasks: store().tasks,
    keyOf: (user: string) => store().keys.lease(user),
    clock,
    ttlMs,
  })
  const make = (longMs = ttlMs) => new Leases({ ...leaseOptions(), ttlMs: longMs })
  beforeEach(() => {
    leases = make()
  })
  afterEach(() => leases.close())

  test('one of many attempts wins, with a token that is the lease’s value', async () => {
    const others = Array.from({ length: 20 }, () => make())
    const won = (await Promise.all(others.map(other => other.acquire('ada')))).filter(lease => lease !== null)
    expect(won).toHaveLength(1)
    expect(await store().redis.get(store().keys.lease('ada'))).toBe(won[0]!.token)
    expect(await store().redis.pttl(store().keys.lease('ada'))).toBeGreaterThan(ttlMs - 1000)
    await leases.giveBack('ada', won[0]!.token)
    expect(await leases.acquire('ada')).not.toBeNull()
  })

  test('a refusal comes at once, and counts from before the request', async () => {
    await store().hold('ada', 'another')
    expect(await leases.acquire('ada')).toBeNull()
    const beforeMs = clock.monotonicMs()
    const taken = await leases.acquire('grace')
    expect(taken!.sinceMs).toBeGreaterThanOrEqual(beforeMs)
    expect(taken!.sinceMs).toBeLessThanOrEqual(clock.monotonicMs())
  })

  test('a refusal takes one script', async () => {
    const scripts = async () =>
      Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await store().redis.info('commandstats'))?.[1])
    await store().hold('ada', 'another')
    await leases.acquire('ada')
    const before = await scripts()
    await leases.acquire('ada')
    expect((await scripts()) - before).toBe(1)
    await store().redis.del(store().keys.lease('ada'))
    expect(await leases.acquire('ada')).not.toBeNull()
  })

  test('an acquisition without an answer is released', async () => {
    // Redis has the script from here on.
    await leases.acquire('grace')
    const { commands } = store().connection
    const lost = new Error('Command timed out')
    const evalsha = async (...call: Parameters<typeof commands.evalsha>) => {
      const answer = await commands.evalsha(...call)
      if (call.length === 5) throw lost
      return answer
    }
    const redis = { evalsha, eval: commands.eval.bind(commands) } as unknown as typeof commands
    const cut = new Leases({ ...leaseOptions(), redis })
    await expect(cut.acquire('ada')).rejects.toThrow('Redis does not answer')
    expect(await store().redis.exists(store().keys.lease('ada'))).toBe(0)
    await cut.close()
  })

  const compareLease = () => store().compares.lease

  test('there is one lease of comparing, renewed for as long as the compare takes', async () => {
    const first = await leases.acquireTask(compareLease())
    expect(await make().acquireTask(compareLease())).toBeNull()
    await store().redis.pexpire(compareLease(), 1500)
    const renewed = async () => (await store().redis.pttl(compareLease())) > 1500
    await vi.waitUntil(renewed, { timeout: 5000, interval: 20 })
    await first!.release()
    expect(await store().redis.exists(compareLease())).toBe(0)
  })

  test('the lease of a task is known to be lost once it was not renewed in time', async () => {
    const held = await leases.acquireTask(compareLease(), true)
    expect(held!.isLost).toBe(false)
    await store().redis.del(compareLease())
    await vi.waitUntil(() => held!.isLost, { timeout: 5000, interval: 20 })
    await held!.release()
  })

  test('a duty’s lease lasts a third of the TTL, a second at least', async () => {
    const lasts = async (of: Leases) => {
      const held = await of.acquireTask(compareLease(), true)
      const lastsMs = await store().redis.pttl(compareLease())
      await held!.release()
      return lastsMs
    }
    const long = await lasts(make(10_000))
    expect(long).toBeGreaterThan(2_000)
    expect(long).toBeLessThanOrEqual(3_333)
    expect(await lasts(make(1_500))).toBeLessThanOrEqual(1_000)
  })

  test('the lease of comparing is free again when Redis’ clock stepped back, even without extensions', async () => {
    await leases.acquireTask(compareLease())
    const other = make()
    await other.acquireTask(compareLease())
    expect(await store().redis.exists(compareLease())).toBe(1)
    await store().redis.pexpire(compareLease(), 3_600_000)
    expect(await other.acquireTask(compareLease())).toBeNull()
    const won = await other.acquireTask(compareLease())
    expect(won).not.toBeNull()
    await won!.release()
  })

  test('a kept lease is extended, a dropped one is not', async () => {
    await store().create('ada')
    const { token, sinceMs } = (await leases.acquire('ada'))!
    const claim = await store().owners.claim('ada', token, ttlMs)
    const lease = leases.keep({ name: 'ada', op: claim!.record.op, token }, sinceMs)
    const beat = async () => Number(await store().redis.zscore(store().keys.owned, 'ada'))
    const first = await beat()
    await vi.waitUntil(async () => (await beat()) > first, { timeout: 5000, interval: 20 })
    leases.drop(lease)
    expect(leases.size).toBe(0)
    lease.check()
  })
})

describe('leases by the holder’s clock', () => {
  let clock: ManualClock
  let leases: Leases
  let asked: { held: readonly Ownership[]; answer: (extended: boolean[]) => void; fail: () => void }[]
  let onAsked = () => {}
  const long = 10_000

  beforeEach(() => {
    clock = new ManualClock()
    asked = []
    const extend = (held: readonly Ownership[]) =>
      new Promise<boolean[]>((resolve, reject) => {
        asked.push({ held, answer: resolve, fail: () => reject(new Error('away')) })
        onAsked()
      })
    leases = new Leases({
      redis: store().connection.commands,
      owners: { extend, giveBack: async () => {} },
      tasks: store().tasks,
      keyOf: user => user,
      clock,
      ttlMs: long,
    })
  })
  afterEach(async () => {
    const closed = leases.close()
    for (const { fail } of asked) fail()
    await closed
  })

  const keep = (user = 'ada', sinceMs = clock.monotonicMs()): Lease =>
    leases.keep({ name: user, op: 1, token: 't' }, sinceMs)

  /** Advances the clock, and waits until the leases sleep again. */
  async function pass(ms: number): Promise<void> {
    await clock.sleepBetween(0, long)
    clock.advance(ms)
    await settle()
  }

  const settle = () => new Promise(resolve => setImmediate(resolve))

  function isAsked(times: number): Promise<void> {
    return new Promise(resolve => {
      onAsked = () => {
        if (asked.length >= times) resolve()
      }
      onAsked()
    })
  }

  test('a lease ends for its holder after 0.66 of the TTL, counted from before the request', async () => {
    await settle()
    const sinceMs = clock.monotonicMs()
    clock.advance(1000)
    const lease = keep('ada', sinceMs)
    await pass(1000)
    await pass(1000)
    await pass(3599)
    expect(lease.signal.aborted).toBe(false)
    lease.check()
    await pass(1)
    expect(lease.signal.aborted).toBe(true)
    expect(lease.signal.reason).toBeInstanceOf(LeaseLost)
    expect(leases.size).toBe(0)
  })

  test('an extension counts from before it was sent, however late its answer', async () => {
    const lease = keep()
    const begunMs = clock.monotonicMs()
    await pass(2000)
    await isAsked(1)
    await pass(4000)
    asked[0]!.answer([true])
    await settle()
    // Sent at 2,000: valid until 8,600.
    await pass(begunMs + 8599 - clock.monotonicMs())
    lease.check()
    clock.advance(1)
    expect(() => lease.check()).toThrow('could not be extended')
  })

  test('a hanging extension does not keep other leases from ending', async () => {
    const [first, second] = [keep('ada'), keep('grace')]
    await pass(2000)
    await isAsked(1)
    await pass(2000)
    await pass(2599)
    expect([first.signal.aborted, second.signal.aborted]).toEqual([false, false])
    await pass(1)
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, true])
    expect(asked).toHaveLength(1)
  })

  test('a lease is over before any timer fires when the event loop was blocked', () => {
    const lease = keep()
    clock.advance(6600)
    expect(() => lease.check()).toThrow('could not be extended')
    expect(lease.signal.aborted).toBe(true)
  })

  test('a lease is lost at once when the store says that another replica has it', async () => {
    const [kept, lost] = [keep('ada'), keep('grace')]
    await pass(2000)
    await isAsked(1)
    expect(asked[0]!.held.map(({ name }) => name)).toEqual(['ada', 'grace'])
    asked[0]!.answer([true, false])
    await settle()
    expect([kept.signal.aborted, lost.signal.aborted]).toEqual([false, true])
    expect(leases.size).toBe(1)
  })

  test('a failed extension is repeated, and holds when it succeeds in time', async () => {
    const lease = keep()
    await pass(2000)
    await isAsked(1)
    asked[0]!.fail()
    await settle()
    await pass(2000)
    await isAsked(2)
    asked[1]!.answer([true])
    await settle()
    clock.advance(6599)
    lease.check()
  })

  test('many leases are extended in batches of a hundred', async () => {
    for (let i = 0; i < 250; i++) keep(`u${i}`)
    await pass(2000)
    for (const [i, count] of [100, 100, 50].entries()) {
      await isAsked(i + 1)
      expect(asked[i]!.held).toHaveLength(count)
      asked[i]!.answer(Array(count).fill(true))
    }
    await settle()
    expect(leases.size).toBe(250)
  })

  test('a lease is lost to a later operation, and not to its own or an earlier one', () => {
    const lease = keep()
    leases.superseded('ada', 1)
    leases.superseded('grace', 9)
    expect(lease.signal.aborted).toBe(false)
    leases.superseded('ada', 2)
    expect(lease.signal.reason.message).toMatch('superseded')
  })

  test('a dropped lease is not extended, and a later one of the same user is unaffected', async () => {
    const first = keep()
    leases.drop(first)
    const second = keep()
    leases.drop(first)
    expect(leases.size).toBe(1)
    await pass(2000)
    await isAsked(1)
    expect(asked[0]!.held).toEqual([second])
  })
})
