/** The halves of a pair: the same tenants made by the replicas or by the bare loop, each on a new cluster. */
import { statSync } from 'node:fs'
import type { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type AuditedRequest, controllerRequests } from '../measure/audit.ts'
import { profiled, profilerArgs } from '../measure/profiled.ts'
import { type Commands, commandsBetween, commandsOf } from '../measure/redis.ts'
import { cpuSeconds, type Memory, memoryOf } from '../measure/usage.ts'
import { type Edits, editTenants } from './edits.ts'
import { type Made, makeByLoop, makeBySkylab } from './make.ts'
import { restFigures } from './rest.ts'
import { type Site, type SiteOptions, withSite } from './site.ts'

export interface HalfOptions extends Omit<SiteOptions, 'nodeArgs'> {
  readonly replicas: number
  /** Whether all replicas but one are killed when half of the tenants are ready. */
  readonly kill: boolean
  /** Number of edits after the making. */
  readonly edits: number
  /** Minutes of rest after those. */
  readonly rest: number
  /** A folder for CPU profiles of the replicas while tenants are made. */
  readonly profile: string | undefined
}

export interface SkylabHalf {
  readonly made: Made
  /** Resident memory of each replica after the making. */
  readonly memory: readonly Memory[]
  /** Processor time for all tenants, in seconds: of the replicas together, and of the API server. */
  readonly cpu: { readonly replicas: number; readonly server: number }
  readonly requests: readonly AuditedRequest[]
  readonly commands: Commands
  readonly edits: Edits | undefined
  readonly rest: object | undefined
}

export interface LoopHalf {
  readonly made: Made
  readonly serverSeconds: number
}

/** Late watches and collections end before anything else is measured. */
const settleMs = 5_000

export function skylabHalf(options: HalfOptions): Promise<SkylabHalf> {
  const { profile, replicas: count, signal } = options
  const nodeArgs = profilerArgs(profile)
  return withSite({ ...options, nodeArgs }, async site => {
    const replicas = await site.start(count)
    await systemClock.sleep(settleMs, signal)
    const make = () => using(site, replicas, () => makeBySkylab(site, killer(options, replicas)))
    const making = await profiled(profile, replicas, make)
    await systemClock.sleep(settleMs, signal)
    const memory = replicas.map(({ pid }) => memoryOf(pid))
    const edits = options.edits > 0 ? await editTenants(site, options.edits) : undefined
    if (options.rest > 0) await systemClock.sleep(settleMs, signal)
    const rest = options.rest > 0 ? await restFigures(site, replicas, options.rest) : undefined
    return { ...making, memory, edits, rest }
  })
}

export const loopHalf = (options: HalfOptions): Promise<LoopHalf> =>
  withSite({ ...options, nodeArgs: [] }, async site => {
    await systemClock.sleep(settleMs, options.signal)
    const before = site.serverSeconds()
    const made = await makeByLoop(site)
    return { made, serverSeconds: site.serverSeconds() - before }
  })

function killer({ kill, tenants, progress }: HalfOptions, replicas: readonly Replica[]): (ready: number) => void {
  return ready => {
    if (!kill || ready !== Math.ceil(tenants / 2)) return
    for (const replica of replicas.slice(1)) replica.kill()
    progress.say(`  ${replicas.length - 1} replicas killed at ${ready} tenants`)
  }
}

async function using(site: Site, replicas: readonly Replica[], work: () => Promise<Made>) {
  const from = statSync(site.auditLog).size
  const before = await commandsOf(site.redis)
  const own = () => replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0)
  const [ownBefore, serverBefore] = [own(), site.serverSeconds()]
  const made = await work()
  const cpu = { replicas: own() - ownBefore, server: site.serverSeconds() - serverBefore }
  const commands = commandsBetween(before, await commandsOf(site.redis))
  return { made, cpu, commands, requests: await controllerRequests(site.auditLog, from) }
}
