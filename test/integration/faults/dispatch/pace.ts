/** dispatch V10: the limits of calls hold for all replicas together. The journal of the cloud has when each call came. */
import type { Entry } from '../../../../dev/cloud/journal.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { type OwnCloud, ownCloud } from '../../../kit/cloud/cloud.ts'
import { attackInFull } from '../in-full.ts'
import { Site, until } from './shared.ts'

const perSecond = 3
const creations = 2
const windowMs = 2_000
const replicas = 3
/** More than one replica has room for. */
const [wanted, room] = [12, 5]

/** The most calls within a window. */
function mostIn(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b)
  return Math.max(0, ...sorted.map((from, i) => sorted.slice(i).filter(at => at < from + windowMs).length))
}

/** The most calls that were open at once. */
function mostAtOnce(entries: readonly Entry[]): number {
  const open = (atMs: number) => entries.filter(entry => entry.atMs <= atMs && (entry.endMs ?? atMs) > atMs).length
  return Math.max(0, ...entries.map(({ atMs }) => open(atMs)))
}

/** Many machines are made at once, and ended again. None of them boots. */
async function makeMany(trial: Trial, cloud: OwnCloud, limits: object): Promise<void> {
  trial.context.onTestFinished(() => cloud.close())
  const site = await Site.start(trial, {
    ...{ replicas, engine: { room } },
    types: { small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 } },
    cloud: {
      ...{ Driver: 'ec2', DriverParameters: cloud.parameters, ImageID: 'ami-12345678', TimeoutBooting: '12s' },
      ...limits,
    },
  })
  const uuids = await Promise.all(Array.from({ length: wanted }, () => site.submit({ as: 'Cancelled' })))
  trial.injected(wanted)
  await until(() => cloud.live().length).toBe(wanted)
  // Else one of them would have made all calls.
  const owned = await Promise.all(site.fleet.replicas.map((_, index) => site.metric('skylab_dispatch_owned ', index)))
  trial.figure('owned', owned)
  if (owned.filter(count => count > 0).length < 2) throw new Error('one replica has all machines')
  for (const uuid of uuids) await site.fleet.containers.change(uuid, undefined, { cancel: 'enough' })
  await until(async () => [...(await site.fleet.list()).map(({ name }) => name), ...cloud.live()]).toEqual([])
  trial.landed(wanted)
  await site.judge()
}

attack(
  'dispatch V10 the pace of all replicas',
  async trial => {
    const cloud = await ownCloud()
    await makeMany(trial, cloud, { MaxCloudOpsPerSecond: perSecond, MaxConcurrentInstanceCreateOps: 0 })
    const changes = cloud.journal.entries.filter(({ action }) => /^(Run|Terminate)Instances$/.test(action))
    const inWindow = mostIn(changes.map(({ atMs }) => atMs))
    trial.figure('inWindow', inWindow)
    // Each replica may be late with one call that has had its turn.
    const most = (perSecond * windowMs) / 1000 + replicas
    if (inWindow > most) trial.violation(`V10 ${inWindow} calls in ${windowMs} ms, of ${perSecond} a second`)
  },
  { concurrent: true },
)

attackInFull(
  'dispatch V10 creations at once',
  async trial => {
    const cloud = await ownCloud()
    cloud.faults.add({ action: 'RunInstances', times: null, effect: { delayMs: 700 } })
    await makeMany(trial, cloud, { MaxCloudOpsPerSecond: 0, MaxConcurrentInstanceCreateOps: creations })
    const atOnce = mostAtOnce(cloud.journal.of('RunInstances'))
    trial.figure('atOnce', atOnce)
    if (atOnce > creations) trial.violation(`V10 ${atOnce} creations at once, of ${creations}`)
  },
  { concurrent: true },
)
