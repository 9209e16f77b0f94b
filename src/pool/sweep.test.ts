import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { CloudRefused } from '../clouds/errors.ts'
import type { FakeCloudOptions } from '../clouds/testing/fake-driver.ts'
import { Sweeper, type SweepReport } from './sweep.ts'
import { formerSet, names, ourSet, siteOf, tagsOf } from './testing/site.ts'

const minuteMs = 60_000

function sweeperOf(options: Partial<FakeCloudOptions> = {}) {
  const clock = new ManualClock({ nowMs: 10_000_000 })
  const site = siteOf({ nowMs: () => clock.wallMs(), ...options })
  const reports: SweepReport[] = []
  const state = { isTaken: false, sweeper: undefined as Sweeper | undefined, drops: 0 }
  const sweep = async (passedMs = 0): Promise<SweepReport> => {
    clock.advance(passedMs)
    state.sweeper ??= new Sweeper({
      ...site.adoption,
      ...{
        cloud: site.calls,
        ended: { dropExcess: async () => (state.drops += 1) },
        clock,
        lease: 'lease',
        intervalMs: minuteMs,
        bootingMs: 10 * minuteMs,
        patienceMs: 5000,
        tombstoneMs: minuteMs,
      },
      leases: { acquireTask: async () => (state.isTaken ? null : { token: 'token', release: async () => {} }) },
      onSwept: report => void reports.push(report),
      failpoint: () => {},
    })
    const { sweeper } = state
    const before = reports.length
    if (before === 0) sweeper.start()
    else sweeper.wake()
    await expect.poll(() => reports.length, { interval: 1 }).toBeGreaterThan(before)
    return reports.at(-1)!
  }
  onTestFinished(() => state.sweeper?.stop())
  return { ...site, clock, sweep, state, reports }
}

describe('Sweeper', () => {
  it('adopts a machine of our set when no record has it', async () => {
    const { cloud, machines, sweep, adopted } = sweeperOf()
    const id = cloud.add(tagsOf('a1', { [names.idleBehavior]: 'hold', [names.hostKey]: 'ssh-ed25519 A' }))
    const old = cloud.add(tagsOf('', { [names.instanceSetId]: formerSet }))
    await sweep()
    expect(machines.briefs.get('a1')).toMatchObject({
      instance: id,
      state: 'unknown',
      idleBehavior: 'hold',
      type: 'small',
    })
    expect([...machines.briefs.values()].map(({ instance }) => instance)).toEqual([id, old])
    expect(machines.asked[0]).toBe('instance:a1 {"secret":"secret"}')
    expect(adopted).toEqual(['adopted', 'adopted'])
    await sweep()
    expect(adopted).toHaveLength(2)
  })

  it('adopts the second machine of one intent, and gives it tags of its own', async () => {
    const { cloud, machines, sweep } = sweeperOf()
    const [first, second] = [cloud.add(tagsOf('a1')), cloud.add(tagsOf('a1'))]
    machines.put('a1', { instance: first })
    await sweep()
    await sweep()
    const other = [...machines.briefs.values()].find(({ instance }) => instance === second)!
    expect(cloud.tagsOf(second)[names.intent]).toBe(other.name)
    expect(cloud.tagsOf(first)[names.intent]).toBe('a1')
  })

  it('leaves a machine to its keeper, who is making it', async () => {
    const { cloud, machines, sweep, adopted } = sweeperOf()
    cloud.add(tagsOf('a1'))
    machines.put('a1', { instance: '', state: 'creating' })
    await sweep()
    expect(adopted).toEqual([])
  })

  it('gives a machine whose intent is over a record that ends it', async () => {
    const { cloud, machines, sweep, adopted } = sweeperOf()
    const id = cloud.add(tagsOf('a1'))
    machines.bury('a1')
    await sweep()
    expect(adopted).toEqual(['late'])
    expect([...machines.briefs.values()]).toMatchObject([{ instance: id, ending: 'its intent is over' }])
  })

  it('adopts nothing that is over by now, though an old listing shows it', async () => {
    const { cloud, clock, machines, sweep, adopted } = sweeperOf({ lagMs: 30_000 })
    const id = cloud.add(tagsOf('a1'))
    clock.advance(40_000)
    cloud.end(id)
    machines.bury('a1')
    expect(await sweep(1_000)).toMatchObject({ strays: 1 })
    expect(adopted).toEqual([])
  })

  it('concludes nothing when a listing does not show a machine yet', async () => {
    const { cloud, machines, sweep } = sweeperOf({ lagMs: 30_000 })
    machines.put('a1', { instance: cloud.add(tagsOf('a1')) })
    expect(await sweep()).toMatchObject({ gone: 0, released: 0 })
    expect(machines.briefs.get('a1')).toMatchObject({ ending: '' })
    expect(cloud.changes()).toEqual([])
  })

  it('has a machine ended that the cloud shows as gone, held ones too, and leaves the proof to its keeper', async () => {
    const { cloud, machines, sweep } = sweeperOf()
    const id = cloud.add(tagsOf('a1'))
    machines.put('a1', { instance: id, idleBehavior: 'hold' })
    cloud.end(id)
    expect(await sweep()).toMatchObject({ gone: 1 })
    expect(machines.briefs.get('a1')).toMatchObject({ ending: 'the cloud shows it as gone' })
    expect(cloud.changes()).toEqual([])
  })

  it('concludes nothing of a machine that the cloud does not know', async () => {
    const { machines, sweep } = sweeperOf()
    machines.put('a1', { instance: 'vm-77' })
    expect(await sweep()).toMatchObject({ gone: 0, released: 0 })
    expect(machines.briefs.get('a1')).toMatchObject({ ending: '' })
  })

  it('sets tags again when somebody changed them', async () => {
    const { cloud, machines, sweep } = sweeperOf()
    const id = cloud.add({ ...tagsOf('wrong'), [names.idleBehavior]: 'run', Name: 'by hand' })
    machines.put('a1', { instance: id, idleBehavior: 'hold' })
    expect(await sweep()).toMatchObject({ retagged: 1 })
    expect(cloud.tagsOf(id)).toMatchObject({ [names.intent]: 'a1', [names.idleBehavior]: 'hold', Name: 'by hand' })
    expect(await sweep()).toMatchObject({ retagged: 0 })
  })

  it('writes the tag of a record that changes meanwhile once more', async () => {
    const { cloud, machines, sweep } = sweeperOf()
    const id = cloud.add(tagsOf('a1', { [names.idleBehavior]: 'drain' }))
    machines.put('a1', { instance: id })
    let reads = 0
    machines.onFind = () => {
      reads += 1
      if (reads === 2) machines.put('a1', { instance: id, idleBehavior: 'hold' })
    }
    await sweep()
    expect(cloud.tagsOf(id)[names.idleBehavior]).toBe('hold')
  })

  it.each<[string, (tags: Record<string, string>) => Record<string, string>]>([
    ['no tag of a set', ({ [names.instanceSetId]: _, ...others }) => others],
    ['another set', tags => ({ ...tags, [names.instanceSetId]: 'theirs' })],
    ['a set that begins like ours', tags => ({ ...tags, [names.instanceSetId]: `${ourSet}-2` })],
    ['an empty set', tags => ({ ...tags, [names.instanceSetId]: '' })],
  ])('touches no machine with %s, whatever the driver lists', async (_, change) => {
    const { cloud, machines, sweep, driver } = sweeperOf()
    const ids = [cloud.add(change(tagsOf('a1'))), cloud.add(change(tagsOf('b2')))]
    cloud.addResource('nic', change(tagsOf('c3')), 0)
    machines.bury('b2')
    // A record has its id, and its tags differ from the record.
    const taken = cloud.add(change(tagsOf('d4')))
    machines.put('d4', { instance: taken, idleBehavior: 'hold' })
    ids.push(taken)
    // Even a driver that forgets to ask for our set alone.
    driver.list = async () =>
      ids.map(id => ({ id, address: '', providerType: 't', state: 'running', tags: cloud.tagsOf(id) }))
    driver.orphans = async () => [...cloud.resources.values()]
    await sweep(minuteMs)
    await sweep(20 * minuteMs)
    expect([cloud.changes(), [...machines.briefs.keys()]]).toEqual([[], ['d4']])
  })

  it('leaves a machine alone when somebody took the tag of our set away, and reports it', async () => {
    const { cloud, machines, sweep } = sweeperOf()
    const id = cloud.add(tagsOf('a1'))
    machines.put('a1', { instance: id })
    await sweep()
    cloud.retag(id, ({ [names.instanceSetId]: _, ...others }) => others)
    expect(await sweep(minuteMs)).toMatchObject({ released: 1, retagged: 0 })
    expect(cloud.changes()).toEqual([])
    expect(machines.briefs.get('a1')).toMatchObject({ ending: '' })
  })

  it('removes what was made for a machine that never came, when it is old and nobody makes that machine', async () => {
    const { cloud, machines, sweep, clock } = sweeperOf()
    const bornMs = clock.wallMs()
    cloud.addResource('left', tagsOf('a1'), bornMs)
    cloud.addResource('needed', tagsOf('b2'), bornMs)
    cloud.addResource('undated', tagsOf('c3'), undefined)
    machines.put('b2', { instance: '', state: 'creating' })
    expect(await sweep(10 * minuteMs)).toMatchObject({ removed: 0 })
    expect(await sweep(1)).toMatchObject({ removed: 1 })
    expect([...cloud.resources.keys()]).toEqual(['needed', 'undated'])
    expect(await sweep(10 * minuteMs)).toMatchObject({ removed: 1 })
    expect([...cloud.resources.keys()]).toEqual(['needed'])
  })

  it('counts as removed what the cloud has removed alone', async () => {
    const { cloud, sweep, driver, clock } = sweeperOf()
    for (const id of ['kept', 'left']) cloud.addResource(id, tagsOf('a1'), clock.wallMs())
    const { remove } = driver
    driver.remove = async (resource, call) => {
      if (resource.id === 'kept') throw new CloudRefused('it is in use')
      return remove(resource, call)
    }
    await sweep(10 * minuteMs)
    expect(await sweep(1)).toMatchObject({ removed: 1 })
    expect([...cloud.resources.keys()]).toEqual(['kept'])
  })

  it('goes on with the others when the cloud refuses something of one', async () => {
    const { cloud, machines, sweep, driver } = sweeperOf()
    const [one, two] = [cloud.add(tagsOf('x')), cloud.add(tagsOf('y'))]
    machines.put('a1', { instance: one })
    machines.put('b2', { instance: two })
    const setTags = driver.setTags
    driver.setTags = async (id, tags, call) => {
      if (id === one) cloud.faults = { ...cloud.faults, refusal: 1 }
      await setTags(id, tags, call).finally(() => {
        cloud.faults = { ...cloud.faults, refusal: 0 }
      })
    }
    await sweep()
    expect(cloud.tagsOf(two)[names.intent]).toBe('b2')
  })

  it('drops what is kept too much when the cloud does not answer, too', async () => {
    const { sweep, state, driver } = sweeperOf()
    await sweep()
    expect(state.drops).toBe(1)
    driver.list = async () => {
      throw new RetryLater('it does not answer')
    }
    void sweep().catch(() => {})
    await expect.poll(() => state.drops, { interval: 1 }).toBe(2)
  })

  it('stops when another replica has the lease', async () => {
    const { cloud, machines, sweep, reports, clock } = sweeperOf()
    cloud.add(tagsOf('a1'))
    machines.isMarked = false
    void sweep().catch(() => {})
    await clock.sleepBetween(50_000, 70_000)
    expect([reports, machines.briefs.size]).toEqual([[], 0])
    reports.push({ strays: 0, retagged: 0, removed: 0, gone: 0, released: 0 })
  })
})
