/** The halves of a pair, with what each used: many labs made and removed by Skylab, and by the bare loop. */
import { statSync } from 'node:fs'
import { type AuditedRequest, controllerRequests } from '../measure/audit.ts'
import { type Commands, commandsBetween, commandsOf } from '../measure/redis.ts'
import { type Usage, usedBetween } from '../measure/usage.ts'
import type { BenchStack } from './bench-stack.ts'
import type { Load, LoadResult } from './client.ts'
import type { LoopQuestion } from './loop.ts'

/** A result, and what was used meanwhile. */
export interface Measured<T> {
  readonly result: T
  readonly usage: Usage
  readonly commands: Commands
  /** Requests of the controller. */
  readonly requests: readonly AuditedRequest[]
}

export interface Half<T> {
  readonly created: Measured<T>
  readonly deleted: Measured<T>
}

export type SkylabHalf = Half<LoadResult>
/** Seconds. */
export type LoopHalf = Half<number>

async function measured<T>(bench: BenchStack, work: () => Promise<T>): Promise<Measured<T>> {
  const auditLog = bench.stack.cluster.auditLog!
  const from = statSync(auditLog).size
  const commands = await commandsOf(bench.redis)
  const usage = bench.usage()
  const result = await work()
  return {
    result,
    usage: usedBetween(usage, bench.usage()),
    commands: commandsBetween(commands, await commandsOf(bench.redis)),
    requests: await controllerRequests(auditLog, from),
  }
}

export async function skylabHalf(bench: BenchStack, url: string, load: Partial<Load> = {}): Promise<SkylabHalf> {
  const { client, users, stack } = bench
  const common = { url, users, adminToken: stack.users.admin!.token, follow: true, ...load }
  const ask = (question: Load) => measured(bench, () => client.ask<LoadResult>(question))
  bench.toggleProfiles()
  const created = await ask({ ...common, kind: 'create' })
  bench.toggleProfiles()
  const deleted = await ask({ ...common, kind: 'delete', perSecond: undefined })
  return { created, deleted }
}

export async function loopHalf(bench: BenchStack): Promise<LoopHalf> {
  const ask = (question: LoopQuestion) => measured(bench, () => bench.loop.ask<number>(question))
  bench.toggleProfiles()
  const created = await ask({ do: 'create' })
  bench.toggleProfiles()
  return { created, deleted: await ask({ do: 'delete' }) }
}

/** Sends the same requests to the bare routes, through a balancer like the replicas'. */
export function bareAcceptance(bench: BenchStack, perSecond?: number): Promise<LoadResult> {
  const { client, users, urls } = bench
  const load: Load = { kind: 'create', url: urls.bare, users, adminToken: '', follow: false, perSecond }
  return client.ask<LoadResult>(load)
}
