/**
 * Many labs at once: all asked for through the balancer in the same instant, on nodes of KWOK, then all deleted at once.
 *   npm run bench -- spawn [--labs 200] [--replicas 3] [--kwok 5]
 */
import { readFileSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { LabClient } from '../box/demo-client.ts'
import { createKubectl, type Kubectl } from '../box/kubectl.ts'
import type { Progress } from '../box/progress.ts'
import { openRun } from '../box/run.ts'
import { type Stack, setupStack, startStack } from '../box/stack.ts'
import { systemClock } from '../src/clock.ts'
import { type AuditedRequest, controllerRequests } from './audit.ts'
import { percentile, round, tally } from './statistics.ts'

const ticksPerSecond = 100
const body = JSON.stringify({ options: { image_type: 'recommended', size: 'small' }, env: {} })

interface Phase {
  readonly seconds: number
  readonly acceptMs: readonly number[]
  readonly endedMs: readonly number[]
  readonly outcomes: Record<string, number>
  readonly gaps: number
  readonly cpuSeconds: number
  readonly requests: readonly AuditedRequest[]
}

export async function spawnBench(args: readonly string[], progress: Progress, signal: AbortSignal): Promise<object> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      labs: { type: 'string', default: '200' },
      replicas: { type: 'string', default: '3' },
      kwok: { type: 'string', default: '5' },
    },
  })
  const [labs, replicas, kwok] = [Number(values.labs), Number(values.replicas), Number(values.kwok)]
  const choice = { realNode: 'never', kwok, audit: true } as const
  const tools = await setupStack(choice, progress, signal)
  const run = await openRun(progress)
  try {
    const common = { stateDir: run.stateDir, tools, progress, signal }
    const stack = await startStack({ ...choice, ...common, replicas, users: labs + 3 })
    const kubectl = createKubectl(tools, stack.cluster.kubeconfig, run.stateDir)
    const users = Object.keys(stack.users)
      .filter(name => name !== 'admin')
      .slice(0, labs)
    // The first lab of a process pays for what is loaded once.
    await phase(stack, users.slice(0, 3), 'create')
    await phase(stack, users.slice(0, 3), 'delete')
    const before = await leftovers(stack, kubectl)
    const created = await progress.part(`${labs} labs created`, () => phase(stack, users, 'create'))
    const deleted = await progress.part(`${labs} labs deleted`, () => phase(stack, users, 'delete'))
    const after = await leftovers(stack, kubectl)
    await Promise.all(stack.replicas.map(replica => replica.stop()))
    return {
      bench: 'spawn',
      conditions: { labs, replicas, kwok, at_once: labs, node: process.version },
      created: figures(created, labs),
      deleted: figures(deleted, labs),
      namespaces_differ: after.namespaces.filter(name => !before.namespaces.includes(name)),
      redis_keys_left: after.keys,
    }
  } finally {
    await progress.part('take down', () => run.close())
  }
}

function figures({ seconds, acceptMs, endedMs, outcomes, gaps, cpuSeconds, requests }: Phase, labs: number) {
  const ofLabs = requests.filter(({ op }) => op !== undefined)
  const [fine, refused] = [ofLabs.filter(({ code }) => code < 400), ofLabs.filter(({ code }) => code >= 400)]
  const name = ({ verb, resource }: AuditedRequest) => `${verb} ${resource}`
  const perLab = Object.fromEntries(
    Object.entries(tally(fine.map(name))).map(([key, count]) => [key, round(count / labs)]),
  )
  return {
    labs_per_s: round(labs / seconds, 2),
    seconds: round(seconds, 2),
    accept_ms: { p50: round(percentile(acceptMs, 0.5), 1), p99: round(percentile(acceptMs, 0.99), 1) },
    ended_s: { p50: round(percentile(endedMs, 0.5) / 1000, 2), p95: round(percentile(endedMs, 0.95) / 1000, 2) },
    outcomes,
    streams_with_gaps: gaps,
    cpu_ms_per_lab: round((cpuSeconds * 1000) / labs, 1),
    requests_per_lab: round(fine.length / labs),
    by_verb: perLab,
    refused: tally(refused.map(request => `${name(request)} ${request.code}`)),
    others: tally(requests.filter(({ op }) => op === undefined).map(name)),
  }
}

/** Asks for all at once and follows each to its end. */
async function phase(stack: Stack, users: readonly string[], kind: 'create' | 'delete'): Promise<Phase> {
  const auditLog = stack.cluster.auditLog!
  const from = statSync(auditLog).size
  const cpu = cpuOf(stack)
  const begunMs = systemClock.monotonicMs()
  const results = await Promise.all(users.map(user => one(stack, user, kind)))
  const seconds = (systemClock.monotonicMs() - begunMs) / 1000
  return {
    seconds,
    acceptMs: results.map(({ acceptMs }) => acceptMs),
    endedMs: results.map(({ endedMs }) => endedMs),
    outcomes: tally(results.map(({ outcome }) => outcome)),
    gaps: results.filter(({ gap }) => gap).length,
    cpuSeconds: cpuOf(stack) - cpu,
    requests: await controllerRequests(auditLog, from),
  }
}

async function one(stack: Stack, user: string, kind: 'create' | 'delete') {
  const token = stack.users[user]!.token
  const begunMs = systemClock.monotonicMs()
  const status = await accept(stack, user, kind)
  const acceptMs = systemClock.monotonicMs() - begunMs
  let outcome = `answer ${status}`
  let gap = false
  let seq = 0
  if (status === 303 || status === 202) {
    for await (const event of new LabClient({ url: stack.url, token }).events(user)) {
      seq += 1
      gap ||= event.id?.split('-')[1] !== String(seq)
      outcome = event.event
    }
  }
  return { acceptMs, endedMs: systemClock.monotonicMs() - begunMs, outcome, gap }
}

async function accept(stack: Stack, user: string, kind: 'create' | 'delete'): Promise<number> {
  const url = `${stack.url}/nublado/spawner/v1/labs/${user}`
  const by = (name: string) => ({ authorization: `Bearer ${stack.users[name]!.token}` })
  const response =
    kind === 'create'
      ? await fetch(`${url}/create`, {
          method: 'POST',
          redirect: 'manual',
          headers: { ...by(user), 'content-type': 'application/json' },
          body,
        })
      : await fetch(url, { method: 'DELETE', headers: by('admin') })
  await response.body?.cancel()
  return response.status
}

/** Seconds of CPU that the replicas have used. */
function cpuOf(stack: Stack): number {
  const ticks = stack.replicas.map(({ pid }) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond
}

/** Namespaces of labs, and keys of Redis by name and time to live in seconds (-1: for ever). */
async function leftovers(
  stack: Stack,
  kubectl: Kubectl,
): Promise<{ namespaces: string[]; keys: Record<string, string> }> {
  await sleep(1000)
  const redis = new Redis(stack.redis.url)
  try {
    const kinds = new Map<string, Set<string>>()
    for (const key of await redis.keys('*')) {
      const kind = key.replace(/^(\{.*\}:(events|tombstone|nonce|lease|lab|idempotency)):.*/, '$1:*')
      const expires = (await redis.ttl(key)) < 0 ? 'never expires' : 'expires'
      kinds.set(kind, (kinds.get(kind) ?? new Set()).add(expires))
    }
    const keys = Object.fromEntries([...kinds].map(([kind, ttls]) => [kind, [...ttls].join(', ')]))
    const listed = await kubectl(['get', 'namespaces', '-o', 'name'])
    return { namespaces: listed.trim().split('\n'), keys }
  } finally {
    redis.disconnect()
  }
}
