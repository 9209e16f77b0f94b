/** Labs with a pretended Jupyter server each, on fleets that stop idle ones within seconds. */
import type { ConfigInput } from '../../../../dev/stack/config.ts'
import { systemClock } from '../../../../src/base/clock.ts'
import type { Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Client } from '../../../kit/fleet/client.ts'
import type { Fleet, FleetOptions } from '../../../kit/fleet/fleet.ts'
import { type Behaviour, FakeJupyter } from '../../../kit/idle/fake-jupyter.ts'
import { isWhole } from '../points.ts'

type IdleInput = NonNullable<ConfigInput['idle']>
type RuleInput = NonNullable<IdleInput['rules']>[number]

/** A lab that runs, and the server at the address of its pod. */
export interface IdleLab {
  readonly fleet: Fleet
  readonly user: Client
  readonly name: string
  readonly fake: FakeJupyter
  /** Where its API is. */
  readonly prefix: string
  readonly podUid: string
  readonly op: number
}

export type Reply = 'kept' | 'stopping' | 'none' | number

/** A silent kernel that works. */
export const busy = (): Behaviour => ({ kernels: [{ state: 'busy', lastMs: Date.now() - 3_600_000 }] })
/** It shows no activity of its own. */
export const silent: Behaviour = {}

/** One rule for all, by which a lab ends a second after its last use, without a warning. */
export const rule = (more: Partial<RuleInput> = {}): RuleInput => ({
  ...{ name: 'short', idleTimeoutSeconds: 1, warnSeconds: 0 },
  ...more,
})

/** A fleet that checks every lab each second. */
export const idleFleet = (rules: readonly RuleInput[], more: IdleInput = {}, options: FleetOptions = {}) =>
  ({
    ...{ replicas: 2 },
    ...options,
    config: {
      ...options.config,
      idle: {
        ...{ enabled: true, checkPeriodSeconds: 1, restPeriodSeconds: 1, probeTimeoutSeconds: 2 },
        ...{ stopsPerMinute: 10_000, ...more },
        rules: [...rules],
      },
    },
  }) satisfies FleetOptions

export interface LabOptions {
  /** Default: busy, so that it is not stopped before its story begins. */
  readonly behaviour?: Behaviour
  /** The token that it is asked with. */
  readonly token?: string
  /** Default: one of its own. */
  readonly fake?: FakeJupyter
  /** Default: a fresh one. */
  readonly user?: Client
}

/** Makes a lab, and leads its address to a server, which ends with the test. */
export async function startLab(trial: Trial, fleet: Fleet, options: LabOptions = {}): Promise<IdleLab> {
  const { user = fleet.user(), token, behaviour = busy() } = options
  const fake = options.fake ?? (await startFake(trial))
  if (!options.fake) fake.behave(behaviour)
  const name = user.username
  const prefix = `/nb/user/${name}/`
  const env = { JUPYTERHUB_SERVICE_PREFIX: prefix, ...(token !== undefined && { JUPYTERHUB_API_TOKEN: token }) }
  const { status } = await user.create(undefined, { env })
  if (status !== 303) throw new Error(`the lab of ${name}: ${status}`)
  const { outcome, op } = await user.follow({ limitMs: 120_000 })
  if (outcome !== 'complete') throw new Error(`the lab of ${name}: ${outcome}`)
  await lead(fleet, name, fake.address)
  const { podUid } = await recordOf(fleet, name)
  return { fleet, user, name, fake, prefix, op, podUid: podUid! }
}

export const startLabs = (trial: Trial, fleet: Fleet, count: number, options: LabOptions = {}): Promise<IdleLab[]> =>
  Promise.all(Array.from({ length: count }, () => startLab(trial, fleet, options)))

export async function startFake(trial: Trial, address?: string): Promise<FakeJupyter> {
  const fake = await FakeJupyter.start(address)
  trial.context.onTestFinished(() => fake.stop())
  return fake
}

/** Gives the pod of a lab an address. */
export const lead = (fleet: Fleet, name: string, address: string): Promise<void> =>
  fleet.world.setPodStatus(name, { podIP: address, podIPs: [{ ip: address }] })

export const recordOf = (fleet: Fleet, name: string): Promise<Record<string, string>> =>
  fleet.world.redis.hgetall(fleet.world.keys.record(name))

export const activityOf = (fleet: Fleet, name: string): Promise<Record<string, string>> =>
  fleet.world.redis.hgetall(fleet.world.keys.activity('lab', name))

/** When a lab is checked next, or when its taker's time is over, in µs; null: it is checked no more. */
export async function scoreOf({ world: { redis, keys } }: Fleet, name: string): Promise<string | null> {
  return (await redis.zscore(keys.due('lab'), name)) ?? (await redis.zscore(keys.dueSlow('lab'), name))
}

/** The set stays no longer without a check. */
const weekMs = 604_800_000

/** Makes it due, whoever checks it. */
export async function makeDue({ world: { redis, keys } }: Fleet, name: string): Promise<void> {
  await redis.zrem(keys.dueSlow('lab'), name)
  await redis.zadd(keys.due('lab'), 1, name)
  await redis.pexpire(keys.due('lab'), weekMs)
}

/** Makes it due, unless it is checked now or in a moment: that check would go on beside the one that this causes. */
export async function makeDueOnce(fleet: Fleet, name: string): Promise<void> {
  const [seconds] = await fleet.world.redis.time()
  const inMs = Number(await scoreOf(fleet, name)) / 1000 - Number(seconds) * 1000
  const isTaken = inMs > takenMs.least && inMs < takenMs.most
  if (inMs > soonMs && !isTaken) await makeDue(fleet, name)
}

/** Redis' time is read in whole seconds. */
const soonMs = 1_500
/** How far ahead the score of a taken lab is. */
const takenMs = { least: 10_000, most: 21_500 }

/** Waits until the labs are checked: in full size until the muster knows them, which comes each 10 s. */
export async function untilMustered(fleet: Fleet, labs: readonly IdleLab[]): Promise<void> {
  const { redis, keys } = fleet.world
  if (!isWhole) {
    await Promise.all(labs.map(({ name }) => redis.zadd(keys.due('lab'), 'NX', 1, name)))
    await redis.pexpire(keys.due('lab'), weekMs)
  }
  const isThere = async ({ name }: IdleLab) => (await scoreOf(fleet, name)) !== null
  await Promise.all(labs.map(lab => eventually(`${lab.name} is checked`, () => isThere(lab), 60_000)))
}

/** Stands as it was made: with this operation and this pod. */
export async function isRunning({ fleet, name, op, podUid }: IdleLab): Promise<boolean> {
  const record = await recordOf(fleet, name)
  return record.status === 'running' && Number(record.op) === op && record.podUid === podUid
}

/** Reports use, as its user does. */
export const touch = (lab: IdleLab, url?: string): Promise<Reply> => tell(lab, 'POST', 'activity', undefined, url)

/** Asks for a time. */
export const keep = (lab: IdleLab, seconds: number): Promise<Reply> => tell(lab, 'POST', 'keep-alive', { seconds })

async function tell(
  { fleet, user, name }: IdleLab,
  method: string,
  what: string,
  body?: object,
  url = fleet.anyUrl(),
): Promise<Reply> {
  const headers = { authorization: `Bearer ${user.token}`, 'content-type': 'application/json' }
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
  const response = await fetch(`${url}/activity/v1/lab/${name}/${what}`, init)
  await response.body?.cancel()
  if (response.ok) return 'kept'
  return response.status === 409 ? 'stopping' : response.status === 404 ? 'none' : response.status
}

/** The times at which a server was asked for kernels: once for each check of this lab. */
export const checksOf = ({ fake, prefix }: IdleLab): number[] =>
  fake.asked.filter(({ path }) => path.startsWith(`${prefix}api/kernels`)).map(({ atMs }) => atMs)

export const pause = (ms: number): Promise<void> => systemClock.sleep(Math.max(0, ms))

/** A counter of a replica, summed over the series that have all these labels. */
export async function counterOf(fleet: Fleet, index: number, name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`${fleet.monitoringUrl(index)}/metrics`)).text()
  const lines = text.split('\n').filter(line => line.startsWith(`${name}{`) && line.includes(labels))
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

/** Nothing is stopped while the judge looks. */
export function calm(labs: readonly Pick<IdleLab, 'fake'>[]): void {
  for (const { fake } of labs) fake.behave(busy())
}
