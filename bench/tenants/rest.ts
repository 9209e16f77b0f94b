/** Replicas beside tenants at rest: what they ask, write and lease, while the API server also forgets what it has sent. */
import { readFileSync, statSync } from 'node:fs'
import { readRecord } from '../../dev/process/process.ts'
import { controlServer } from '../../dev/process/server.ts'
import type { Replica } from '../../dev/stack/replicas.ts'
import { systemClock } from '../../src/base/clock.ts'
import { controllerRequests } from '../measure/audit.ts'
import { callsOf, metricsOf } from '../measure/metrics.ts'
import { commandsBetween, commandsOf } from '../measure/redis.ts'
import { round, tally } from '../measure/statistics.ts'
import { cpuSeconds, memoryFigures } from '../measure/usage.ts'
import type { Site } from './site.ts'

const serverName = 'kube-apiserver'
const serverLimitMs = 90_000
const changing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection'])
const leases = new Set(['set', 'evalsha', 'eval'])

/** A cluster with replicas at rest. */
export type RestSite = Pick<Site, 'auditLog' | 'redis' | 'cluster' | 'kube'> & {
  readonly options: Pick<Site['options'], 'signal'>
}

/**
 * Watches for some minutes. After the first third the API server is killed and started again: its memory of events is
 * empty then, so it refuses watches from earlier versions, and the replicas list all again.
 */
export async function restFigures(site: RestSite, replicas: readonly Replica[], minutes: number): Promise<object> {
  const { auditLog, redis, options } = site
  const from = statSync(auditLog).size
  const seconds = minutes * 60
  const counted = async () => ({
    commands: await commandsOf(redis),
    calls: await callsOf(replicas),
    turns: await turnsOf(replicas),
  })
  const before = await counted()
  const used = replicas.map(({ pid }) => cpuSeconds(pid))
  await systemClock.sleep((seconds * 1000) / 3, options.signal)
  const restartedAt = statSync(auditLog).size
  await restartServer(site, replicas)
  await systemClock.sleep((seconds * 1000 * 2) / 3, options.signal)
  const percent = replicas.map(({ pid }, index) => round(((cpuSeconds(pid) - used[index]!) / seconds) * 100, 2))
  const after = await counted()
  const requests = await controllerRequests(auditLog, from)
  const writes = requests.filter(({ verb, dryRun }) => changing.has(verb) && !dryRun)
  const lists = (await controllerRequests(auditLog, restartedAt)).filter(({ verb }) => verb === 'list')
  const commands = commandsBetween(before.commands, after.commands)
  return {
    minutes,
    writes: writes.length,
    leases: Object.entries(commands).reduce((sum, [name, count]) => sum + (leases.has(name) ? count : 0), 0),
    lists_after_restart: tally(lists.map(({ resource }) => resource)),
    requests: tally(
      requests.map(({ verb, resource, code, dryRun }) => `${verb}${dryRun ? ' (dry run)' : ''} ${resource} ${code}`),
    ),
    redis_commands: commands,
    redis_calls: commandsBetween(before.calls, after.calls),
    turns: commandsBetween(before.turns, after.turns),
    cpu_percent: percent,
    memory_mib: memoryFigures(replicas),
  }
}

const turns = /^skylab_reconcile_turns_total(\{.*\})$/

/** Turns of all replicas, by kind and result. */
export async function turnsOf(replicas: readonly Replica[]): Promise<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const metrics of await Promise.all(replicas.map(metricsOf))) {
    for (const [key, value] of metrics) {
      const labels = turns.exec(key)?.[1]
      if (labels !== undefined) sums[labels] = (sums[labels] ?? 0) + value
    }
  }
  return sums
}

/** The replicas are halted meanwhile: a balancer would lead them to no server that is not ready. */
async function restartServer({ cluster: { stateDir }, kube }: RestSite, replicas: readonly Replica[]): Promise<void> {
  const { pid } = readRecord(stateDir, serverName)!
  const [command, ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
  const answers = async () => (await kube.request('GET', '/readyz')).status === 200
  const spec = { name: serverName, command: command!, args, stateDir }
  for (const replica of replicas) replica.kill('SIGSTOP')
  await controlServer(spec, { answers, limitMs: serverLimitMs }).restart()
  for (const replica of replicas) replica.kill('SIGCONT')
}
