/** The halves of a pair: many labs made by Skylab, or by the bare loop, each on a new stack that is thrown away. */
import { mkdirSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { blockBeside } from '../../dev/dispatch/beside.ts'
import type { ConfigInput } from '../../dev/stack/config.ts'
import { applyRights } from '../../dev/stack/stack.ts'
import { tenantsKeyPrefix } from '../../dev/tenants/beside.ts'
import { readConfig } from '../../src/settings/config-file.ts'
import { type AuditedRequest, controllerRequests } from '../measure/audit.ts'
import { type BenchContext, type BenchStack, settle, withBenchStack } from '../measure/bench-stack.ts'
import { openWarmCrowd } from '../measure/crowd.ts'
import { startIdleApps } from '../measure/idle-apps.ts'
import { startIdleDispatch } from '../measure/idle-dispatch.ts'
import { startIdleTenants } from '../measure/idle-tenants.ts'
import type { LoadResult } from '../measure/load.ts'
import { callsOf } from '../measure/metrics.ts'
import { type Commands, commandsBetween, commandsOf } from '../measure/redis.ts'
import { type Memory, memoryOf, type Usage, usedBetween } from '../measure/usage.ts'
import type { LoopQuestion } from './loop.ts'
import { loopConfig } from './loop-config.ts'
import type { Wing } from './wings.ts'

export interface HalfOptions extends BenchContext {
  /** Labs that are measured. */
  readonly labs: number
  /** Labs made before those, which stay: they pay for code and caches that any first labs pay for. */
  readonly warmUp: number
  readonly replicas: number
  readonly kwok: number
  /** A built program for the replicas. Default: this checkout's. */
  readonly program?: string | undefined
  /** What stands beside, at rest. */
  readonly wings?: readonly Wing[]
  /** Addresses of pods. */
  readonly podRange?: string
  /** Rate of requests for labs. Default: all at once. */
  readonly perSecond?: number
  /** Whether all labs are removed afterwards, and this is measured. */
  readonly removes: boolean
  /** A folder for CPU profiles of this half, from the time when labs are made. */
  readonly profile: string | undefined
}

/** A result, and what was used meanwhile. */
export interface Measured<T> {
  readonly result: T
  readonly usage: Usage
  /** Commands that Redis ran, and calls of the replicas by script or command. */
  readonly commands: Commands
  readonly calls: Commands
  /** Requests of the controller. */
  readonly requests: readonly AuditedRequest[]
}

export interface Half<T> {
  readonly created: Measured<T>
  /** Of all labs, those of the warm-up too. */
  readonly removed: Measured<T> | undefined
}

export interface SkylabHalf extends Half<LoadResult> {
  /** Acceptance by the bare routes. */
  readonly bare: LoadResult
  /** The same while the labs are made; only of labs requested at a pace. */
  readonly bareBeside: LoadResult | undefined
  /** Of each replica, before the measured labs and after them, both at rest. */
  readonly memory: { readonly before: readonly Memory[]; readonly after: readonly Memory[] }
}

/** The results are seconds. */
export interface LoopHalf extends Half<number> {
  readonly objectsPerLab: number
}

export function skylabHalf(options: HalfOptions): Promise<SkylabHalf> {
  const { signal, perSecond, replicas } = options
  return withHalf(options, replicas, async bench => {
    const { warmUp, measured } = usersOf(bench, options)
    await startWings(bench, options)
    const crowd = await openWarmCrowd(bench, { warmUp, replicas, signal })
    const memory = () => bench.stack.replicas.map(({ pid }) => memoryOf(pid))
    const bare = await crowd.askBare({ users: measured, perSecond })
    const before = memory()
    const create = () => crowd.ask({ users: measured, perSecond })
    const making = profiled(bench, options, () => using(bench, create))
    const asking = perSecond === undefined ? undefined : crowd.askBare({ users: measured, perSecond })
    const [created, bareBeside] = await Promise.all([making, asking])
    await settle(bench, signal)
    const after = memory()
    const remove = () => using(bench, () => crowd.ask({ kind: 'delete', users: [...warmUp, ...measured] }))
    const removed = options.removes ? await remove() : undefined
    return { bare, bareBeside, created, memory: { before, after }, removed }
  })
}

export function loopHalf(options: HalfOptions): Promise<LoopHalf> {
  return withHalf(options, 0, async bench => {
    const { warmUp, measured } = usersOf(bench, options)
    const loop = bench.worker(new URL('loop.ts', import.meta.url), 'loop')
    const ask = (question: LoopQuestion) => loop.ask<number>(question)
    const { configFile, cluster } = bench.stack
    // The loop acts as the controller's account, which the policies confine to installations that it owns.
    await applyRights(cluster, loopConfig(await readConfig(configFile)))
    const objectsPerLab = await ask({ do: 'prepare', configFile, users: namesOf([...warmUp, ...measured]), of: 'loop' })
    const create = (users: BenchStack['users']) => ask({ do: 'create', users: namesOf(users) })
    await create(warmUp)
    await settle(bench, options.signal)
    const created = await profiled(bench, options, () => using(bench, () => create(measured)))
    const removed = options.removes ? await using(bench, () => ask({ do: 'delete' })) : undefined
    return { objectsPerLab, created, removed }
  })
}

/** Nothing is stopped meanwhile. */
const idle: ConfigInput['idle'] = { enabled: true, rules: [{ name: 'all', idleTimeoutSeconds: 86_400 }] }

/** Starts the processes of those wings that have some. Each gets the settings of the wings that it uses. */
async function startWings(bench: BenchStack, { wings = [], signal }: HalfOptions): Promise<void> {
  if (wings.includes('tenants')) await startIdleTenants(bench, signal)
  if (wings.includes('apps')) await startIdleApps(bench, signal, wings.includes('idle') ? idle : undefined)
  const tenants = wings.includes('tenants') ? tenantsKeyPrefix : undefined
  if (wings.includes('dispatch')) await startIdleDispatch(bench, signal, tenants)
}

function withHalf<T>(options: HalfOptions, replicas: number, work: (bench: BenchStack) => Promise<T>): Promise<T> {
  const { profile, labs, warmUp, wings = [] } = options
  if (profile !== undefined) mkdirSync(profile, { recursive: true })
  const nodeArgs = profile === undefined ? [] : [profilerArg(profile)]
  const overrides = {
    ...(wings.includes('idle') && { idle }),
    ...(wings.includes('dispatch') && { dispatch: blockBeside }),
  }
  return withBenchStack({ ...options, overrides, users: labs + warmUp, replicas, nodeArgs }, work)
}

function profilerArg(folder: string): string {
  const module = new URL('../measure/profiler.ts', import.meta.url)
  module.searchParams.set('folder', resolve(folder))
  return `--import=${module}`
}

async function profiled<T>(bench: BenchStack, { profile }: HalfOptions, work: () => Promise<T>): Promise<T> {
  if (profile === undefined) return work()
  bench.signalAll('SIGUSR2')
  const result = await work()
  bench.signalAll('SIGUSR2')
  return result
}

const usersOf = ({ users }: BenchStack, { warmUp, labs }: HalfOptions) => ({
  warmUp: users.slice(0, warmUp),
  measured: users.slice(warmUp, warmUp + labs),
})

const namesOf = (users: BenchStack['users']): string[] => users.map(({ name }) => name)

async function using<T>({ stack, redis, usage }: BenchStack, work: () => Promise<T>): Promise<Measured<T>> {
  const auditLog = stack.cluster.auditLog!
  const from = statSync(auditLog).size
  // Replicas ask Redis for what they report.
  const [calls, commands] = [await callsOf(stack.replicas), await commandsOf(redis)]
  const before = usage()
  const result = await work()
  const after = usage()
  return {
    result,
    usage: usedBetween(before, after),
    commands: commandsBetween(commands, await commandsOf(redis)),
    calls: commandsBetween(calls, await callsOf(stack.replicas)),
    requests: await controllerRequests(auditLog, from),
  }
}
