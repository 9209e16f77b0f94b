/**
 * Judges the toys of a fleet by the judge of labs: their evidence is put into the form that labs' evidence has. A home stands
 * for the namespace, a thing for the pod, and the world's journal for the audit log.
 */
import { labNames } from '../../../src/labs/names.ts'
import { readLogs } from '../attack/judge.ts'
import { check, type Violation } from '../check/check.ts'
import { operationsOf } from '../check/operations.ts'
import type { AuditedRequest } from '../evidence/audit.ts'
import {
  type ClusterObject,
  type Evidence,
  type Expectations,
  parseHistory,
  type RedisKey,
} from '../evidence/evidence.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { timesMs, toy } from './context.ts'
import type { Toys } from './toys.ts'
import type { ToyWorld, Written } from './world.ts'

const prefix = 'toy'
const verbs: Readonly<Record<string, string>> = { POST: 'create', DELETE: 'delete' }

/** Waits until no toy has an operation, and checks the evidence against the invariants of labs. */
export async function judgeToys(fleet: Fleet, toys: Toys, world: ToyWorld, expects: Expectations = {}) {
  const restless = await rest(fleet, toys, world)
  await toys.recorder.close()
  const evidence = await gather(fleet, toys, world, { restless, expects })
  const violations: readonly Violation[] = check(evidence)
  return { violations, operations: operationsOf(evidence, parseHistory(evidence.history)).length }
}

async function rest(fleet: Fleet, { family }: Toys, world: ToyWorld): Promise<readonly string[]> {
  const { redis } = fleet.world
  for (const endMs = performance.now() + 30_000; ; ) {
    const sets = [family.waiting, family.owned, family.deadlines]
    const busy = (await Promise.all(sets.map(key => redis.zrange(key, 0, '-1')))).flat()
    const leaving = world.names.filter(name => world.home(name)?.terminating)
    const why = [...busy.map(name => `an operation of ${name}`), ...leaving.map(name => `the home of ${name} goes`)]
    if (why.length === 0 || performance.now() > endMs) return why
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

async function gather(
  fleet: Fleet,
  toys: Toys,
  world: ToyWorld,
  { restless, expects }: Pick<Evidence, 'restless' | 'expects'>,
): Promise<Evidence> {
  const [logs, redis] = await Promise.all([readLogs(fleet, toy), fleet.world.redisDump()])
  return {
    terms: { ...fleet.terms, namespacePrefix: prefix, spawnMs: timesMs.create, deleteMs: timesMs.delete },
    expects,
    history: [...toys.recorder.history, ...fleet.recorder.history.filter(({ type }) => type === 'strike')],
    audit: world.journal.map(requestOf),
    watches: [],
    logs: [...logs, ...toys.lines].sort((a, b) => a.atMs - b.atMs),
    marks: fleet.failpoints.blows().filter(({ point }) => point.startsWith(`${toy}.`)),
    cluster: world.names.flatMap(name => objectsOf(world, name)),
    redis: ofToys(redis, fleet.keyPrefix),
    answers: [],
    usage: [],
    restless,
  }
}

function requestOf({
  method,
  what,
  name,
  code,
  replica,
  op,
  claim,
  receivedAtMs,
  completedAtMs,
}: Written): AuditedRequest {
  const { namespace, lab } = labNames(prefix, name)
  const object = what === 'home' ? { resource: 'namespaces', name: namespace } : { resource: 'pods', name: lab }
  const request = { verb: verbs[method]!, subresource: '', namespace, ...object, code, message: '', sender: replica }
  return { ...request, userAgent: '', op, claim, replica, dryRun: false, receivedAtMs, completedAtMs }
}

function objectsOf(world: ToyWorld, name: string): ClusterObject[] {
  const home = world.home(name)
  if (!home) return []
  const { namespace, lab } = labNames(prefix, name)
  const { uid, op, terminating, thing } = home
  const common = { namespace, terminating }
  return [
    { ...common, kind: 'Namespace', name: namespace, uid, op, owner: undefined, user: name },
    ...(thing
      ? [{ ...common, kind: 'Pod', name: lab, uid: thing.uid, op: thing.op, owner: uid, user: undefined }]
      : []),
  ]
}

/** The keys of toys, under the names that those of labs have. The last epoch may stay for ever. */
function ofToys(redis: ReadonlyMap<string, RedisKey>, keyPrefix: string): ReadonlyMap<string, RedisKey> {
  const tag = `{${keyPrefix}}:`
  return new Map(
    [...redis].flatMap(([key, value]) => {
      const name = key.slice(tag.length)
      if (name.startsWith(`${toy}:`)) return [[`${tag}lab:${name.slice(toy.length + 1)}`, value] as const]
      if (!name.startsWith(`${toy}-`) || name === `${toy}-epoch`) return []
      return [[tag + name.slice(toy.length + 1), value] as const]
    }),
  )
}
