/** dispatch V5: a machine on hold is never shut down, and gets nothing new, whatever ends other machines. */
import { join } from 'node:path'
import type { Redis } from '../../../../dev/redis/redis.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import { configSchema } from '../../../../src/config/schema.ts'
import type { Connection } from '../../../../src/store/connection.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { type OwnCloud, ownCloud } from '../../../kit/cloud/cloud.ts'
import { Dispatch } from '../../../kit/dispatch/store.ts'
import { sourceWithout } from '../../../kit/program/controlled.ts'
import { controlVariable } from '../../../kit/program/controls.ts'
import { opened } from '../../../kit/store/opened.ts'
import { startTestRedis } from '../../../kit/store/redis.ts'
import { Store } from '../../../kit/store/store.ts'
import { testBed } from '../../../kit/testbed.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import { insist, Site, serverOf, until } from './shared.ts'

/** Notes what a machine on hold must not suffer. */
class Held {
  readonly #site: Site
  readonly #trial: Trial
  readonly instance: string

  private constructor(site: Site, trial: Trial, instance: string) {
    this.#site = site
    this.#trial = trial
    this.instance = instance
  }

  static async put(site: Site, trial: Trial, instance: string): Promise<Held> {
    await site.manage('instances/hold', { instance_id: instance })
    return new Held(site, trial, instance)
  }

  /** @param trouble what other machines were ended for */
  async check(trouble: string): Promise<void> {
    const brief = (await this.#site.fleet.list()).find(({ instance }) => instance === this.instance)
    if (!brief) return this.#trial.violation(`V5 after ${trouble}: no record of the machine on hold`)
    if (brief.ending !== '') this.#trial.violation(`V5 after ${trouble}: it ends, ${brief.ending}`)
    if (brief.idleBehavior !== 'hold') this.#trial.violation(`V5 after ${trouble}: it is on '${brief.idleBehavior}'`)
    for (const { uuid } of brief.containers) this.#trial.violation(`V5 after ${trouble}: it has ${uuid}`)
  }

  /** Its operators have seen enough. */
  async end(): Promise<void> {
    await this.#site.manage('instances/kill', { instance_id: this.instance })
  }
}

/** Others have left, and this one has not. */
const alone = (site: Site, { instance }: Held) =>
  until(async () => (await site.fleet.list().catch(() => [])).map(brief => brief.instance)).toEqual([instance])

/** Another container runs elsewhere, and ends. */
async function runElsewhere(site: Site, trial: Trial, { instance }: Held): Promise<void> {
  const uuid = await insist(() => site.submit())
  await site.running(uuid)
  if ((await site.machineOf(uuid)).instance === instance) trial.violation(`V5 it was given ${uuid}`)
  site.witness.letGo(uuid)
  await until(() => site.stateOf(uuid)).toBe('Complete')
  // Redis may be emptied later.
  site.expect({ uuid, as: 'any' })
}

attack(
  'dispatch V5 a machine on hold',
  async trial => {
    const site = await Site.start(trial, { cloud: { TimeoutIdle: '1s', TimeoutProbe: '4s' } })
    const first = await site.submit({ as: 'any' })
    await site.running(first)
    const held = await Held.put(site, trial, (await site.machineOf(first)).instance)
    site.witness.letGo(first)
    await until(() => site.stateOf(first)).toBe('Complete')

    trial.injected()
    await runElsewhere(site, trial, held)
    await alone(site, held)
    trial.landed()
    await held.check('the time-out of idle machines')

    if (isWhole) await silence(site, trial, held)

    trial.injected()
    await site.fleet.client.flushall()
    await runElsewhere(site, trial, held)
    await alone(site, held)
    trial.landed()
    await held.check('a loss of Redis')
    await held.end()
    await site.judge()
  },
  { concurrent: true },
)

/** Nobody reaches it, nor another machine, which is ended for that. */
async function silence(site: Site, trial: Trial, held: Held): Promise<void> {
  const uuid = await site.submit({ restarts: 1 })
  await site.running(uuid)
  const { instance } = await site.machineOf(uuid)
  trial.injected()
  const servers = [held.instance, instance].map(each => serverOf(site, each))
  for (const server of servers) process.kill(server, 'SIGSTOP')
  await until(async () => (await site.fleet.list()).map(brief => brief.instance).includes(instance)).toBe(false)
  trial.landed()
  await held.check('the time-out of probes')
  process.kill(servers[0]!, 'SIGCONT')
  await site.begun(uuid, 2)
  site.witness.letGo(uuid)
  await until(() => site.stateOf(uuid)).toBe('Complete')
  site.expect({ uuid, as: 'any' })
  await alone(site, held)
}

/** Its machines never boot. */
const boots = (cloud: OwnCloud) => ({
  ...{ Driver: 'ec2', DriverParameters: cloud.parameters, ImageID: 'ami-12345678' },
  ...{ TimeoutBooting: '3s', TimeoutProbe: '4s' },
})

attackInFull(
  'dispatch V5 hold at a cloud that has no more',
  async trial => {
    const cloud = await ownCloud()
    trial.context.onTestFinished(() => cloud.close())
    const types = { small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 } }
    const site = await Site.start(trial, { types, cloud: boots(cloud) as never })
    const uuid = await site.submit({ as: 'Cancelled' })
    await until(() => cloud.live().length).toBe(1)
    const [instance] = cloud.live()
    const listed = async () => (await site.fleet.list()).map(brief => brief.instance)
    await until(listed).toContain(instance)
    const held = await Held.put(site, trial, instance!)

    trial.injected()
    const ended = () => cloud.journal.of('TerminateInstances').flatMap(({ ids }) => ids)
    await until(() => ended().length).toBeGreaterThan(0)
    trial.landed()
    await held.check('the time-out of boots')

    for (const [name, begin, outcome] of [
      ['a pace', () => limitPace(cloud), 'RequestLimitExceeded'],
      // The last one: nothing is made for a minute.
      ['a quota', () => Object.assign(cloud.faults, { limits: { instances: 1 } }), 'InstanceLimitExceeded'],
    ] as const) {
      trial.injected()
      const before = cloud.journal.entries.length
      begin()
      await until(() => cloud.journal.entries.slice(before).some(entry => entry.outcome === outcome)).toBe(true)
      trial.landed()
      // A pass later at least.
      const passes = await site.metric('skylab_dispatch_pass_seconds_count')
      await until(() => site.metric('skylab_dispatch_pass_seconds_count')).toBeGreaterThan(passes + 2)
      await held.check(name)
      cloud.faults.limits = {}
      cloud.faults.clear()
    }
    if (ended().includes(instance!)) trial.violation(`V5 it was ended: ${instance}`)
    await site.fleet.containers.change(uuid, undefined, { cancel: 'enough' })
    await held.end()
    await site.judge()
  },
  { concurrent: true },
)

const limitPace = (cloud: OwnCloud) =>
  cloud.faults.add({ action: 'RunInstances', times: 2, effect: { error: 'RequestLimitExceeded', status: 503 } })

const races = isWhole ? 1_000 : 200

/** An operator and a scheduler, which has read the machine as idle and free, write at the same time. */
attack(
  'dispatch V5 hold against shutdown',
  async trial => {
    const name = `dsp-race-${trial.seed.toString(36)}`
    const redis = await startTestRedis({ stateDir: testBed().stateDir, keyPrefix: name })
    trial.context.onTestFinished(() => redis.stop())
    const [operator, scheduler] = [await Store.open(redis, name), await Store.open(redis, name)]
    trial.context.onTestFinished(async () => {
      for (const store of [operator, scheduler]) store.close()
    })
    const connection = await connectionWithout(process.env[controlVariable] ?? '', redis, name)
    trial.context.onTestFinished(() => connection.close())
    const [ours, theirs] = [new Dispatch(operator), new Dispatch(scheduler, connection)]
    await theirs.compare()
    await theirs.schedule()
    let machine: string | undefined
    const found = { held: 0, ended: 0 }
    for (let race = 0; race < races; race += 1) {
      trial.injected()
      machine ??= await idle(theirs)
      const at = await theirs.at(machine)
      const hold = () => ours.machines.setBehavior(machine!, 'hold')
      const shut = () => theirs.write({ what: 'shutdown', machine: at, probedMs: 0, why: 'idle' })
      const isHoldFirst = trial.random() < 0.5
      const shutting = isHoldFirst ? undefined : shut()
      const holding = hold()
      const [set] = await Promise.all([holding, shutting ?? shut()])
      const { ending } = await theirs.machine(machine)
      trial.landed()
      found[ending === '' ? 'held' : 'ended'] += 1
      if (set.answer === 'set' && ending !== '') trial.violation(`V5 it ends although it is on hold: ${ending}`)
      if (set.answer !== 'set' && ending === '') trial.violation(`V5 a hold was refused: ${set.answer}`)
      if (ending === '') await ours.machines.setBehavior(machine, 'run')
      else machine = undefined
    }
    trial.figure('outcomes', found)
    if (found.held === 0 || found.ended === 0) throw new Error(`no race: ${JSON.stringify(found)}`)
  },
  { concurrent: true },
)

/** With the scripts as a control leaves them. */
async function connectionWithout(controls: string, redis: Redis, keyPrefix: string): Promise<Connection> {
  const file = join(sourceWithout(controls), 'src/store/connection.ts')
  const { Connection: Controlled } = (await import(/* @vite-ignore */ file)) as { Connection: typeof Connection }
  const config = configSchema.shape.redis.parse({ url: redis.programUrl, keyPrefix })
  const connection = new Controlled({ config, clock: systemClock })
  await opened(connection)
  return connection
}

/** A machine that has run a container. */
async function idle(dispatch: Dispatch): Promise<string> {
  const { uuid, by, run } = await dispatch.sent()
  await dispatch.keeping.tell(by, uuid, run, { what: 'ended', atMs: Date.now(), exitCode: 0 })
  return by.name
}
