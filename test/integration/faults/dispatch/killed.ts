/** dispatch V2 and V3: replicas, machines and supervisors are killed at every step, and replies are lost: nothing is. */
import { readFileSync } from 'node:fs'
import { endProcesses } from '../../../../src/clouds/loopback/processes.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import type { Arm } from '../../../kit/failpoints/failpoint-arms.ts'
import { commandsOfKeepers, lossOf } from '../commands.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import { Site, until } from './shared.ts'

const around = (step: string, places: readonly string[]) => places.map(place => `instance.create.${step}.${place}`)
const act = ['before-act', 'before-send', 'after-send', 'after-act']
const commit = ['before-commit', 'after-commit']

/** Where a replica may die, in the order in which a machine comes by. */
export const points: readonly string[] = [
  ...['schedule.read', 'schedule.decided', 'schedule.written'],
  'instance.claim.before-act',
  ...around('create', [...act, ...commit]),
  ...around('serve', [...act, ...commit]),
  ...around('destroy', [...act, ...commit]),
  ...['sweep.listed', 'sweep.read'],
]
/** Each of another kind. */
const few = [
  ...['schedule.decided', 'instance.create.create.before-send', 'instance.create.create.after-send'],
  ...['instance.create.serve.before-act', 'instance.create.serve.after-act', 'instance.create.destroy.after-send'],
]

/** Containers come and go until all blows have landed: one is made, runs and ends, so that each step is passed again. */
async function strike(site: Site, trial: Trial, arms: readonly Arm[]): Promise<void> {
  trial.injected(arms.length)
  const landed = () => arms.filter(arm => arm.marks().length > 0).length
  while (landed() < arms.length) {
    const before = landed()
    const uuid = await site.submit()
    await site.begun(uuid)
    site.witness.letGo(uuid)
    await until(() => site.stateOf(uuid)).toBe('Complete')
    await until(async () => landed() > before || (await site.fleet.list().catch(() => [null])).length === 0).toBe(true)
  }
  trial.landed(landed())
}

attack(
  'dispatch V2 killed at each step',
  async trial => {
    const site = await Site.start(trial, { replicas: 3, cloud: { TimeoutIdle: '1s' } })
    for (const some of isWhole ? groupsOf(points, 5) : [few]) {
      const arms = some.map(point => site.fleet.failpoints.arm(point, 'kill'))
      await strike(site, trial, arms)
    }
    await site.judge()
  },
  { concurrent: true, limitMs: 600_000 },
)

function groupsOf<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))
}

const parentOf = (pid: number): number =>
  Number(
    readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[1],
  )

attackInFull(
  'dispatch V2 machine off, supervisor killed',
  async trial => {
    const site = await Site.start(trial, { replicas: 1 })
    const off = await site.submit({ restarts: 1 })
    const lone = await site.submit({ restarts: 1 })
    for (const uuid of [off, lone]) await site.running(uuid)
    const { instance } = await site.machineOf(off)
    trial.injected(2)
    await endProcesses(site.fleet.cloud.pathOf(instance))
    if (!site.witness.alive().includes(off)) trial.landed()
    const [begun] = site.witness.begins(lone)
    const supervisor = parentOf(begun!.pid)
    process.kill(supervisor, 'SIGKILL')
    await until(() => parentOf(begun!.pid) !== supervisor).toBe(true)
    trial.landed()
    for (const uuid of [off, lone]) await site.begun(uuid, 2)
    await site.judge()
  },
  { concurrent: true },
)

attackInFull(
  'dispatch V2 reply lost after apply',
  async trial => {
    const site = await Site.start(trial, {
      replicas: 2,
      proxies: true,
      cloud: { TimeoutIdle: '1s', MaxCloudOpsPerSecond: 50 },
    })
    for (const command of isWhole
      ? commandsOfKeepers
      : ['write-decisions', 'send-container', 'tell-container', 'end-machine']) {
      trial.injected()
      const lost = lossOf(command)
      for (const proxy of site.fleet.proxies) proxy.lose(lost)
      let isLost = false
      void lost.landed.then(() => {
        isLost = true
      })
      while (!isLost) {
        const uuid = await site.submit()
        await site.begun(uuid)
        site.witness.letGo(uuid)
        await until(() => site.stateOf(uuid)).toBe('Complete')
        await until(async () => isLost || (await site.fleet.list()).length === 0).toBe(true)
      }
      trial.landed()
    }
    await site.judge()
  },
  { concurrent: true, limitMs: 600_000 },
)
