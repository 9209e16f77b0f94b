import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Unanswered } from '../clouds/errors.ts'
import type { FakeCloudOptions } from '../clouds/testing/fake-driver.ts'
import { type CompareReport, Comparer } from './compare.ts'
import { names, siteOf, tagsOf } from './testing/site.ts'

const nowMs = 1_700_000_000_000
const dayMs = 86_400_000

function comparerOf(options: Partial<FakeCloudOptions> & { foundOp?: number; lagMs?: number; isTaken?: boolean } = {}) {
  const clock = new ManualClock({ nowMs })
  const site = siteOf({ nowMs: () => clock.wallMs(), ...options })
  const log: string[] = []
  const reports: CompareReport[] = []
  const mark = { value: 'mark', identity: 'redis', needed: true, foundOp: options.foundOp ?? 0, nowMs }
  const compares = {
    lease: 'lease',
    begin: async () => {
      log.push('begin')
      return { ...mark }
    },
    end: async (_: unknown, highestOp: number) => {
      log.push(`end ${highestOp}`)
      site.machines.isCompared = true
      return true
    },
    doubt: async (_: unknown, reason: string) => void log.push(`doubt ${reason}`),
    readDoubt: async () => null,
  }
  const doubt = site.machines.doubt
  site.machines.doubt = async () => {
    log.push('unknown until asked')
    return doubt()
  }
  const comparer = new Comparer({
    ...site.adoption,
    ...{ compares, cloud: site.calls, clock, holdMs: 1000, lagMs: options.lagMs ?? 0, patienceMs: 60_000 },
    leases: { acquireTask: async () => (options.isTaken ? null : { token: 'token', release: async () => {} }) },
    onCompared: report => void reports.push(report),
    failpoint: () => {},
  })
  onTestFinished(() => comparer.stop())
  const compared = () => expect.poll(() => site.machines.isCompared, { interval: 1 }).toBe(true)
  return { ...site, clock, comparer, compared, log, mark, reports }
}

describe('Comparer', () => {
  it('adopts what no record knows, has all machines asked, and floors the counter by their tags', async () => {
    const { cloud, comparer, compared, log, machines, reports } = comparerOf()
    const op = nowMs * 1000 - 5
    const [known, second] = [cloud.add(tagsOf(op.toString(36))), cloud.add(tagsOf(op.toString(36)))]
    cloud.add(tagsOf('', { [names.instanceSetId]: 'theirs' }))
    comparer.start()
    await compared()
    expect([...machines.briefs.values()].map(({ instance }) => instance)).toEqual([known, second])
    expect(log).toEqual(['begin', 'unknown until asked', `end ${op}`])
    expect(reports).toMatchObject([{ result: 'done', listed: 2, ahead: 0 }])
    expect(cloud.changes()).toEqual([])
  })

  it('believes no number that is more than a day beyond the clock of Redis, and reports it', async () => {
    const { cloud, comparer, compared, log, machines, reports } = comparerOf()
    const [far, near] = [(nowMs + dayMs) * 1000 + 1, (nowMs + dayMs) * 1000]
    cloud.add(tagsOf(far.toString(36)))
    cloud.add(tagsOf(near.toString(36)))
    comparer.start()
    await compared()
    expect(log.at(-1)).toBe(`end ${near}`)
    expect(reports).toMatchObject([{ ahead: 1, listed: 2 }])
    expect(machines.briefs.size).toBe(2)
  })

  it('waits for what a listing may lack when Redis has data that may be older than what runs', async () => {
    const { cloud, clock, comparer, compared, log, machines } = comparerOf({ foundOp: 7, lagMs: 30_000 })
    comparer.start()
    await clock.sleepBetween(30_000, 30_000)
    const id = cloud.add(tagsOf('a1'))
    expect(machines.isCompared).toBe(false)
    clock.advance(30_000)
    await compared()
    expect([...machines.briefs.values()]).toMatchObject([{ instance: id, state: 'unknown' }])
    // The first mark does not always last that long.
    expect(log.slice(0, 2)).toEqual(['begin', 'begin'])
  })

  it('waits once more when Redis was replaced while it waited', async () => {
    const { clock, comparer, compared, machines, mark } = comparerOf({ foundOp: 7, lagMs: 30_000 })
    comparer.start()
    await clock.whenSleeping(30_000)
    mark.identity = 'another'
    clock.advance(30_000)
    await clock.whenSleeping(30_000)
    expect(machines.isCompared).toBe(false)
    clock.advance(30_000)
    await compared()
  })

  it('doubts no machine when another replica has compared since it looked', async () => {
    const { comparer, log, machines, mark, reports } = comparerOf()
    mark.needed = false
    machines.isCompared = false
    comparer.start()
    await expect.poll(() => reports, { interval: 1 }).toHaveLength(1)
    expect([log, reports]).toMatchObject([['begin'], [{ result: 'done', listed: 0 }]])
  })

  it('waits for nothing when Redis is empty', async () => {
    const { comparer, compared } = comparerOf({ lagMs: 30_000 })
    comparer.start()
    await compared()
  })

  it('says why while the cloud is away, and compares when it is back', async () => {
    const { cloud, clock, comparer, compared, machines } = comparerOf()
    cloud.away = new Unanswered('the cloud does not answer')
    comparer.start()
    await clock.sleepBetween(250, 250)
    expect([machines.isCompared, comparer.trouble]).toEqual([false, 'the cloud does not answer'])
    cloud.away = undefined
    clock.advance(250)
    await compared()
    await expect.poll(() => comparer.trouble, { interval: 1 }).toBeUndefined()
  })

  it('compares nothing, and says why, when the counter of Redis is far beyond its clock', async () => {
    const { clock, comparer, log, machines } = comparerOf({ foundOp: (nowMs + 3 * dayMs) * 1000 })
    comparer.start()
    await clock.sleepBetween(3_000, 3_000)
    expect(log).toEqual(['begin', expect.stringMatching(/^doubt .*3 days beyond the clock$/)])
    expect(machines.isCompared).toBe(false)
  })

  it('begins again when it was overtaken', async () => {
    const { cloud, clock, comparer, compared, log, machines } = comparerOf()
    cloud.add(tagsOf('a1'))
    machines.isMarked = false
    comparer.start()
    await clock.sleepBetween(250, 250)
    machines.isMarked = true
    clock.advance(250)
    await compared()
    expect(log.filter(each => each === 'begin')).toHaveLength(2)
  })

  it('leaves it to the replica that has the lease', async () => {
    const { clock, comparer, log, machines } = comparerOf({ isTaken: true })
    comparer.start()
    await clock.sleepBetween(250, 250)
    machines.isCompared = true
    clock.advance(250)
    await clock.sleepBetween(1_000_000, Number.POSITIVE_INFINITY)
    expect(log).toEqual([])
  })

  it('compares again when Redis says that its data are not compared', async () => {
    const { comparer, clock, compared, log, machines } = comparerOf()
    comparer.start()
    await compared()
    await clock.sleepBetween(1_000_000, Number.POSITIVE_INFINITY)
    machines.isCompared = false
    comparer.wake()
    await compared()
    expect(log.filter(each => each === 'begin')).toHaveLength(2)
  })
})
