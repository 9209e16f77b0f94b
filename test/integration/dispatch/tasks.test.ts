/** Tasks of operators, by the commands of docs/dispatch-tasks.md as written: real replicas, and real SSH servers on EC2 by moto. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { instanceSetIdOf } from '../../../src/dispatch/tags.ts'
import { driverOf, intentOf, someCall, startLimitMs, whyNoVms } from '../../kit/cloud/cloud.ts'
import { before, Desk, eventually, headings, page, problems } from '../../kit/dispatch/desk.ts'
import type { DispatchFleetOptions } from '../../kit/dispatch/fleet.ts'
import { type CloudSite, cloudSite } from '../../kit/dispatch/on-ec2.ts'

const reason = whyNoVms()
const about = `${page}${reason === null ? '' : `, which cannot run here: ${reason}`}`

describe.skipIf(reason !== null)(about, () => {
  let site: CloudSite
  const opened: Desk[] = []
  beforeAll(async () => {
    site = await cloudSite()
  }, startLimitMs)
  afterAll(async () => {
    await Promise.all(opened.map(desk => desk.close()))
    await site?.close()
  })
  const tried = new Set([before])

  /** Tasks at one desk follow each other; desks work side by side. */
  function deskOf(options: () => DispatchFleetOptions) {
    let last: Promise<unknown> = Promise.resolve()
    let desk: Promise<Desk> | undefined
    const open = async () => {
      const made = await Desk.open(site, options())
      opened.push(made)
      return made
    }
    return (heading: string, title: string, work: (desk: Desk, run: () => Promise<string>) => Promise<void>) => {
      tried.add(heading)
      test.concurrent(title, { timeout: 150_000 }, async () => {
        const mine = last.then(async () => {
          desk ??= open()
          const found = await desk
          await work(found, () => found.run(heading))
        })
        last = mine.catch(() => {})
        await mine
      })
    }
  }

  const usual = deskOf(() => ({ ...typesOf('m5.large'), cloud: { ...site.block, MaxInstances: 2 } }))

  usual('see-what-waits-and-why', 'an operator sees what waits, and why', async (desk, run) => {
    await desk.submit('a')
    await desk.submit('b')
    await desk.runs('a')
    await desk.runs('b')
    await desk.submit('c')
    await eventually(
      () => desk.why('c'),
      found => found.toContain('machines are in use'),
    )
    const shown = await run()
    for (const name of ['a', 'b', 'c']) expect(shown).toContain(desk.uuids.get(name))
  })

  usual('list-machines-and-what-they-cost', 'an operator lists machines, and what they cost', async (desk, run) => {
    const shown = await run()
    expect(shown).toContain('\n2 machines, 0.200 an hour\n0.2\n')
    for (const { instance } of await desk.fleet.list()) expect(shown).toContain(instance)
  })

  usual('hold-a-machine-and-look-into-it', 'an operator holds a machine, and looks into it', async (desk, run) => {
    const shown = await run()
    // Real machines have their ids as names.
    const [, id = ''] = /^(i-[0-9a-f]+)$/m.exec(shown) ?? []
    expect((await desk.fleet.list()).find(({ instance }) => instance === id)?.idleBehavior).toBe('run')
    expect(shown).toMatch(/load average/)
    const tags = site.cloud.journal.of('CreateTags').filter(({ ids }) => ids.includes(id))
    expect(tags.length).toBeGreaterThanOrEqual(2)
  })

  usual('cancel-a-container', 'an operator cancels a container', async (desk, run) => {
    await run()
    const states = async () => Promise.all(['a', 'b', 'c'].map(async name => (await desk.find(name)).state))
    await eventually(states, found => found.toContain('Cancelled'))
    await desk.runs('c')
  })

  usual(
    'end-a-machine-now',
    'an operator ends a machine, and its container runs again elsewhere',
    async (desk, run) => {
      const machines = (await desk.fleet.list()).map(({ instance }) => instance)
      await run()
      await eventually(
        () => machines.every(each => site.cloud.live().includes(each)),
        found => found.toBe(false),
      )
      const running = [...desk.uuids.keys()]
      const runs = async () => Promise.all(running.map(async name => (await desk.find(name)).runs))
      await eventually(runs, found => found.toContain(2))
    },
  )

  usual('drain-a-machine', 'an operator drains a machine, whose container ends first', async (desk, run) => {
    await eventually(
      async () => (await desk.fleet.list()).map(({ state }) => state),
      found => found.toContain('running'),
    )
    await run()
    const drained = (await desk.fleet.list()).find(({ idleBehavior }) => idleBehavior === 'drain')!
    expect(site.cloud.live()).toContain(drained.instance)
    desk.release()
    await eventually(
      () => site.cloud.live().includes(drained.instance),
      found => found.toBe(false),
    )
    expect((await desk.fleet.find(drained.containers[0]!.uuid)).state).toBe('Complete')
  })

  const changing = deskOf(() => ({ ...typesOf('c5.large'), cloud: { ...site.block, MaxInstances: 1 } }))

  changing(
    'change-types-and-limits',
    'an operator raises a limit, and what waited gets a machine',
    async (desk, run) => {
      await desk.submit('a')
      await desk.runs('a')
      await desk.submit('b')
      await eventually(
        () => desk.why('b'),
        found => found.toContain('machines are in use'),
      )
      await run()
      await desk.runs('b')
      expect((await desk.find('a')).runs).toBe(1)
    },
  )

  changing('change-the-token', 'an operator changes the token, and what runs goes on', async (desk, run) => {
    const old = instanceSetIdOf(readFileSync(join(desk.fleet.stateDir, 'dispatch.token'), 'utf8'))
    await run()
    await desk.submit('c')
    await desk.runs('c')
    const fresh = instanceSetIdOf(readFileSync(join(desk.fleet.stateDir, 'dispatch-2.token'), 'utf8'))
    const ids = async (set: string) => (await driverFor(site, set).list(someCall)).map(({ id }) => id)
    const instanceOf = async (name: string) => (await desk.find(name)).instance
    expect(await ids(old)).toContain(await instanceOf('a'))
    expect(await ids(fresh)).toContain(await instanceOf('c'))
    expect((await desk.find('a')).runs).toBe(1)
  })

  changing('redis-has-lost-its-data', 'an operator waits until replicas know again what runs', async (desk, run) => {
    await desk.fleet.client.flushall()
    await run()
    desk.release()
    for (const name of ['a', 'b', 'c']) {
      await eventually(
        async () => (await desk.find(name)).state,
        found => found.toBe('Complete'),
      )
      expect((await desk.find(name)).runs).toBe(1)
    }
  })

  const narrow = deskOf(() => ({ ...typesOf('r5.large'), cloud: site.block }))

  narrow('change-the-sealing-key', 'an operator changes the sealing key, and what runs goes on', async (desk, run) => {
    await desk.submit('b')
    await desk.runs('b')
    await run()
    await desk.submit('c')
    await desk.runs('c')
    desk.release()
    for (const name of ['b', 'c']) {
      await eventually(
        async () => (await desk.find(name)).state,
        found => found.toBe('Complete'),
      )
      expect((await desk.find(name)).runs).toBe(1)
    }
  })

  narrow('try-a-new-image', 'an operator tries a new image', async (_, run) => {
    expect(await run()).toContain('image ami-0fedcba9876543210')
  })

  narrow('find-and-remove-what-was-left', 'an operator ends what a killed test has left', async (desk, run) => {
    const [, set = ''] = /InstanceSetID=([0-9a-f]{40})/.exec(desk.shown) ?? []
    const driver = driverFor(site, set)
    const tags = { ArvadosInstanceSetID: set }
    const { id } = await driver.create(intentOf({ token: 'left', tags, providerType: 'r5.large' }), [], someCall)
    expect(await run()).toContain(`ended ${id}`)
    expect(site.cloud.live()).not.toContain(id)
    await driver.close()
  })

  // For a minute after it, nothing new is made.
  narrow('the-cloud-is-at-its-quota', 'an operator sees that the cloud is at its quota', async (desk, run) => {
    site.cloud.faults.add({
      ...{ action: 'RunInstances', match: { InstanceType: 'r5.large' }, times: null },
      effect: { error: 'VcpuLimitExceeded', message: 'You have requested more vCPU capacity than your limit.' },
    })
    await desk.submit('a')
    await eventually(
      () => desk.why('a'),
      found => found.toMatch(/quota/),
    )
    await run()
    site.cloud.faults.clear()
    await desk.cancel('a')
  })

  const lacking = deskOf(() => ({
    ...typesOf('t3.large'),
    cloud: { ...site.block, DeployRunnerDirectory: '/opt/none', MaxInstances: 1 },
  }))

  lacking(
    'a-machine-is-broken',
    'an operator holds a broken machine, looks into it, and ends it',
    async (desk, run) => {
      await desk.submit('a')
      const shown = await run()
      expect(shown).toContain("the machine's image has no program /opt/none/skylab")
      const [, id = ''] = /^(i-[0-9a-f]+) is being ended$/m.exec(shown) ?? []
      await eventually(
        () => site.cloud.live().includes(id),
        found => found.toBe(false),
      )
      await desk.cancel('a')
    },
  )

  test('all tasks of the page are tried', () => {
    expect(problems).toEqual([])
    expect(headings.filter(each => !tried.has(each))).toEqual([])
    expect(tried.size - 1).toBeGreaterThanOrEqual(12)
  })
})

/** A type of its own for each desk: faults of the cloud strike by type. */
const typesOf = (ProviderType: string) => ({ types: { small: { ProviderType, VCPUs: 1, RAM: '4GiB', Price: 0.1 } } })

const driverFor = ({ cloud }: CloudSite, set: string) => driverOf(cloud, set, {}, 'ArvadosInstanceSetID')
