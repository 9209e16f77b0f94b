import { describe, expect, it } from 'vitest'
import { Fenced, RetryLater } from '../base/errors.ts'
import { LeaseLost } from '../leases/leases.ts'
import { makeRun, places, settled } from './testing/run.ts'

describe('OperationRun', () => {
  it.each([
    ['its origin', { by: '{"user":"ada"}' }, '7 delete succeeded {"user":"ada"}'],
    ['no origin', {}, '7 delete succeeded '],
  ])('writes the end of the operation with %s to the audit log', async (_, more, line) => {
    const { run, ended, vanish } = makeRun(more)
    const over = run.run()
    await settled()
    expect(ended).toEqual([])
    await vanish()
    await over
    expect(ended).toEqual([line])
  })

  it('writes no audit line for an end that another owner may write', async () => {
    const { run, ended, owners } = makeRun({ attempts: 4 })
    owners.finish = async () => {
      throw new Fenced('moved on')
    }
    await run.run()
    expect(ended).toEqual([])
  })

  it('releases the lease and ends nothing when it is handed over', async () => {
    const { run, written, calls, room } = makeRun({})
    const ended = run.run()
    await settled()
    run.handOver()
    await ended
    expect(calls).toEqual(['release'])
    expect(written.some(({ outcome }) => outcome !== undefined)).toBe(false)
    expect(room.free).toBe(places)
  })

  it('does not begin when it was handed over before', async () => {
    const { run, cluster, calls } = makeRun({})
    run.handOver()
    await run.run()
    expect(cluster.requests).toEqual([])
    expect(calls).toEqual(['release'])
  })

  it('stops when its lease is lost', async () => {
    const { run, calls, lost, written, leases } = makeRun({})
    const ended = run.run()
    await settled()
    lost.abort(new LeaseLost('lost'))
    await ended
    expect(await leases()).toEqual({ lost: 1 })
    expect(calls).toEqual(['release'])
    expect(written.some(({ outcome }) => outcome !== undefined)).toBe(false)
  })

  it('does not count a lease as lost when its last extension crossed the end of its operation', async () => {
    const { run, owners, lost, vanish, leases, written } = makeRun({})
    const { finish } = owners
    owners.finish = async (...args) => {
      await finish(...args)
      lost.abort(new LeaseLost('another owns the operation'))
    }
    const ended = run.run()
    await settled()
    await vanish()
    await ended
    expect(written.at(-1)).toMatchObject({ outcome: 'gone' })
    expect(await leases()).toEqual({})
  })

  it('stops when a write is refused', async () => {
    const { run, calls, owners, leases } = makeRun({})
    owners.commit = async () => {
      throw new Fenced('moved on')
    }
    await run.run()
    expect(await leases()).toEqual({ fenced: 1 })
    expect(calls).toEqual(['release'])
  })

  it('writes again while Redis is away, for as long as the lease lasts', async () => {
    const { run, owners, clock, written, vanish } = makeRun({})
    const { commit } = owners
    let failures = 2
    owners.commit = async (...args) => {
      if (failures-- > 0) throw new RetryLater('away')
      return commit(...args)
    }
    const ended = run.run()
    for (let i = 0; i < 2; i++) {
      await clock.sleepBetween(100, 100)
      clock.advance(100)
      await settled()
    }
    await vanish()
    await ended
    expect(written.at(-1)).toMatchObject({ outcome: 'gone' })
  })

  it('leaves the lease to expire after an unexpected error', async () => {
    const { run, calls, owners } = makeRun({})
    owners.commit = async () => {
      throw new TypeError('a bug')
    }
    await run.run()
    expect(calls).toEqual([])
  })

  it('lets go of the operation without a rejection when the kind cannot watch', async () => {
    const { run, owned, calls, room } = makeRun({})
    owned.work.watch = () => {
      throw new Error('no watches')
    }
    expect(await run.run()).toBe(false)
    expect(calls).toEqual([])
    expect(room.free).toBe(places)
  })

  it('releases the lease when the kind does not know whether requests are under way', async () => {
    const { run, owned, calls } = makeRun({})
    owned.work.settled = () => Promise.reject(new Error('no client'))
    run.handOver()
    expect(await run.run()).toBe(false)
    expect(calls).toEqual(['release'])
  })
})
