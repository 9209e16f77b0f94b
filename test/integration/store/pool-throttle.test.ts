/** What the cloud teaches, and the pace of its calls, for all replicas, on a real Redis. */
import { describe, expect, test } from 'vitest'
import { Throttles } from '../../../src/pool/throttle.ts'
import { useDispatch } from '../../kit/dispatch/store.ts'

describe('Throttles', () => {
  const dispatch = useDispatch()
  const throttlesOf = (perSecond = 10) =>
    new Throttles({
      ...{ store: dispatch().scheduling, machines: dispatch().machines, perSecond },
      groupOf: type => (type === 'small' ? 's' : 'others'),
    })
  const throttle = async () => (await dispatch().scheduling.throttle()).throttle

  test('keep what every replica learnt at once', async () => {
    const replicas = Array.from({ length: 4 }, () => throttlesOf())
    const types = Array.from({ length: 12 }, (_, i) => `t${i}`)
    await Promise.all(types.map((type, i) => replicas[i % 4]!.teach({ kind: 'NoCapacity', type })))
    expect([...(await throttle()).capacity.keys()].toSorted()).toEqual(types.toSorted())
  })

  test('count the machines of a group when its quota is used up, but none that was never made', async () => {
    await dispatch().boot(await dispatch().accept())
    await dispatch().boot(await dispatch().accept())
    await dispatch().create(await dispatch().accept())
    await throttlesOf().teach({ kind: 'AtQuota', group: 's', count: 0 })
    const { quotas, hurry } = await throttle()
    expect([quotas.get('s')?.count, hurry]).toEqual([2, true])
  })

  test('pause by the clock of Redis', async () => {
    const { nowMs } = await dispatch().scheduling.throttle()
    await throttlesOf().teach({ kind: 'NoCapacity', type: 'small' })
    const pausedMs = (await throttle()).capacity.get('small')!.untilMs - nowMs
    expect(pausedMs).toBeGreaterThanOrEqual(60_000)
    expect(pausedMs).toBeLessThan(65_000)
  })

  test('end the hurry with a creation that succeeds', async () => {
    const throttles = throttlesOf()
    await throttles.teach({ kind: 'RateLimited', untilMs: Date.now() + 5_000 })
    expect((await throttle()).hurry).toBe(true)
    await throttles.teach({ kind: 'created', type: 'small' })
    expect((await throttle()).hurry).toBe(false)
  })

  test('write nothing when a creation teaches nothing', async () => {
    const { version } = await dispatch().scheduling.throttle()
    await throttlesOf().teach({ kind: 'created', type: 'small' })
    expect((await dispatch().scheduling.throttle()).version).toBe(version)
  })

  test('space the calls of all replicas', async () => {
    const replicas = [throttlesOf(20), throttlesOf(20)]
    const waits = await Promise.all(Array.from({ length: 11 }, (_, i) => replicas[i % 2]!.reserve()))
    // 50 ms from one to the next, less what passed meanwhile.
    expect(Math.max(...waits)).toBeGreaterThan(300)
    expect(Math.max(...waits)).toBeLessThanOrEqual(500)
    expect(new Set(waits.map(wait => Math.round(wait / 25))).size).toBeGreaterThan(8)
  })

  test('refuse a turn that is too far ahead, and take none away', async () => {
    const slow = throttlesOf(0.05)
    expect(await slow.reserve()).toBe(0)
    await expect(slow.reserve()).rejects.toThrow('other calls of the cloud come first')
  })

  test('limit nothing without a number', async () => {
    const free = throttlesOf(0)
    expect(await Promise.all(Array.from({ length: 50 }, () => free.reserve()))).toEqual(Array(50).fill(0))
  })
})
