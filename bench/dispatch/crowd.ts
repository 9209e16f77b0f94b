/** Queues and machines of any size, as a busy installation has them. Pure. */
import { gib, machineOf, needOf, someRules, typeOf, waitingOf } from '../../src/dispatch/testing/world.ts'
import { calm } from '../../src/dispatch/throttle.ts'
import type { Input, Machine, MachineType, Need, Waiting } from '../../src/dispatch/types.ts'
import type { Random } from './random.ts'

const sizes = [1, 2, 4, 8, 16, 32]

/** General ones, such with less memory, such with more, and two with GPUs: prices rise as those of clouds do. */
export const types: readonly MachineType[] = [
  ...sizes.map(size => typeOf(`m${size}`, size, 0.05 * size)),
  ...sizes.map(size => typeOf(`c${size}`, size, 0.0425 * size, { ramBytes: size * 2 * gib, group: 'c' })),
  ...sizes.map(size => typeOf(`r${size}`, size, 0.063 * size, { ramBytes: size * 8 * gib, group: 'r' })),
  typeOf('g8', 8, 1.2, { gpus: 1, group: 'g' }),
  typeOf('g32', 32, 4.5, { gpus: 4, group: 'g' }),
]

export const bootMs = 90_000
const minuteMs = 60_000
/** Most are short, some take hours. */
export const durationOf = (random: Random): number => minuteMs * Math.exp(random.next() * 5.3)

export function needsOf(random: Random, number: number): ReadonlyMap<string, Need> {
  const need = () => {
    const vcpus = 1 + random.below(random.oneOf([2, 4, 8, 30]))
    const gpus = random.below(20) === 0 ? 1 : 0
    return needOf(vcpus, { gpus, ramBytes: Math.floor(gib * vcpus * (0.5 + 5 * random.next())) })
  }
  return new Map(Array.from({ length: number }, (_, i) => [`s-${i}`, need()]))
}

export interface CrowdSize {
  readonly machines: number
  readonly queued: number
  readonly shapes: number
  readonly tenants: number
}

const nowMs = 1_700_000_000_000

/** Of the machines seven in ten run containers. Creation is bounded only by the machines that are allowed. */
export function crowdOf(size: CrowdSize, random: Random): Input {
  const shapes = needsOf(random, size.shapes)
  const names = [...shapes.keys()]
  const tenants = Array.from({ length: size.tenants }, (_, i) => `tenant-${i}`)
  const tenant = () => random.oneOf(tenants)
  const queue = Array.from({ length: size.queued }, (_, i): Waiting => {
    const priority = random.oneOf([1, 1, 1, 50, 100, 500, 1000])
    const over = { tenant: tenant(), priority, queuedMs: nowMs - random.below(10_000_000) }
    return waitingOf(`zzzzz-dz642-${i.toString(36).padStart(15, '0')}`, random.oneOf(names), over)
  })
  const machine = (i: number): Machine => {
    const share = random.below(20)
    const since = { sinceMs: nowMs - random.below(50_000), probedMs: nowMs - random.below(10_000), tenant: tenant() }
    const id = `zzzzz-inst-${i}`
    const type = random.oneOf(types).name
    if (share < 14) return machineOf(id, type, { ...since, state: 'running', containers: [runs(`other-${i}`)] })
    if (share < 17) return machineOf(id, type, { ...since, state: 'idle' })
    if (share === 19) return machineOf(id, type, { ...since, state: 'shutdown' })
    const claimed = random.oneOf(queue)
    const its = { uuid: claimed.uuid, sent: false, supervisor: false, need: shapes.get(claimed.shape)! }
    return machineOf(id, type, { ...since, state: 'booting', tenant: claimed.tenant, containers: [its] })
  }
  const limits = { maxInstances: size.machines + 500, maxConcurrentInstanceCreateOps: 500 }
  const machines = Array.from({ length: size.machines }, (_, i) => machine(i))
  return { shapes, types, nowMs, queue, machines, rules: { ...someRules, ...limits }, throttle: calm }
}

const runs = (uuid: string) => ({ uuid, sent: true, supervisor: false, need: needOf(1) })
