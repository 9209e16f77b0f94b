/** dispatch V1: a machine that several containers share never runs more than it holds, whoever keeps it. */
import type { Trial } from '../../../kit/attack/attack.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import { Site, until } from './shared.ts'

const [places, vcpus] = [3, 4]

interface Ran {
  readonly uuid: string
  readonly instance: string
  readonly vcpus: number
  readonly beganMs: number
  readonly endedMs: number
}

/** For each container, those that ran on its machine when it began, and itself. */
const besides = (all: readonly Ran[]): readonly (readonly Ran[])[] =>
  all.map(one =>
    all.filter(each => each.instance === one.instance && each.beganMs <= one.beganMs && one.beganMs < each.endedMs),
  )

/** Small ones and larger ones come, some at once and some while others run; keepers die meanwhile. */
async function submitAll(site: Site, trial: Trial, count: number): Promise<ReadonlyMap<string, number>> {
  const wishes = new Map<string, number>()
  while (wishes.size < count) {
    const needs = trial.random() < 0.7 ? 1 : 2
    const seconds = Number((0.5 + 1.5 * trial.random()).toFixed(2))
    wishes.set(await site.submit({ vcpus: needs, seconds, restarts: 0 }), needs)
    if (trial.random() < 0.3) await new Promise(resolve => setTimeout(resolve, 500 * trial.random()))
    if (wishes.size % 8 === 0) (await site.fleet.keeper())?.kill()
  }
  return wishes
}

async function ranOf(site: Site, wishes: ReadonlyMap<string, number>): Promise<Ran[]> {
  const lines = site.witness.lines()
  return Promise.all(
    [...wishes].map(async ([uuid, needs]) => {
      const at = (kind: string) => lines.find(line => line.uuid === uuid && line.kind === kind)!.atMs
      const { instance } = await site.fleet.find(uuid)
      return { uuid, instance, vcpus: needs, beganMs: at('begin'), endedMs: at('end') }
    }),
  )
}

attackInFull(
  'dispatch V1 places of a machine',
  async trial => {
    const site = await Site.start(trial, {
      replicas: 3,
      types: { large: { VCPUs: vcpus, RAM: '16GiB', Price: 0.4 } },
      cloud: { MaxInstances: 2, MaxRunningContainersPerInstance: places },
    })
    const wishes = await submitAll(site, trial, isWhole ? 64 : 16)
    for (const uuid of wishes.keys()) await until(() => site.stateOf(uuid)).toBe('Complete')
    const ran = await ranOf(site, wishes)
    const groups = besides(ran)
    // They began beside others.
    const beside = groups.filter(({ length }) => length > 1).length
    trial.injected(beside)
    trial.landed(beside)
    for (const group of groups) {
      const sum = group.reduce((all, each) => all + each.vcpus, 0)
      const names = group.map(({ uuid }) => uuid).join(' ')
      if (group.length > places) trial.violation(`V1 ${group.length} containers on a machine: ${names}`)
      if (sum > vcpus) trial.violation(`V1 ${sum} processors on a machine of ${vcpus}: ${names}`)
    }
    trial.figure('most', Math.max(...groups.map(({ length }) => length)))
    await site.judge()
  },
  { concurrent: true, limitMs: 300_000 },
)
