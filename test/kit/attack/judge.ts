/** Judges one fleet: gathers its evidence at rest and checks it against the invariants of `check.ts`. */
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { tagBeside } from '../../../dev/dispatch/beside.ts'
import { labKind, labOf, parseSubject } from '../../../src/base/subject.ts'
import { markMs } from '../../../src/store/compares.ts'
import { check, type Violation } from '../check/check.ts'
import { operationsOf, usersOf } from '../check/operations.ts'
import type { Answers, Evidence, LogLine, Usage } from '../evidence/evidence.ts'
import { parseHistory } from '../evidence/evidence.ts'
import { labValue } from '../evidence/recorder.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { hasDispatchBeside } from '../fleet/fleet-parts.ts'

export type { Violation } from '../check/check.ts'

/** Limit for a fleet to come to rest: a lease expires after data loss, then the remains are deleted. */
const defaultRestMs = 60_000
const lookMs = 200
/** A running compare renews its mark within this time. An older mark is of a killed compare, and expires. */
const turnMs = 15_000
/** At most this many users are looked up at every replica. */
const askedUsers = 100

export interface Verdict {
  readonly violations: readonly Violation[]
  /** How much there was to judge. */
  readonly figures: Figures
}

export interface Figures {
  readonly operations: number
  /** Answers to the requests that follow the end of an operation (P6). */
  readonly read_backs: number
  readonly judged_ms: number
}

export interface JudgeOptions {
  /** How long the fleet may take to come to rest. */
  readonly restMs?: number
}

/** Judges a fleet before it is stopped: releases what failpoints hold, waits for rest, and checks the evidence. */
export async function judge(fleet: Fleet, { restMs = defaultRestMs }: JudgeOptions = {}): Promise<Verdict> {
  fleet.failpoints.letGo()
  await Promise.all(fleet.stopped().map(index => fleet.kill(index, 'SIGCONT')))
  await fleet.recorder.close()
  // A replica that was just started or continued first becomes ready.
  await fleet.ready().catch(() => {})
  const restless = await rest(fleet, restMs)
  const begunMs = performance.now()
  const evidence = await gather(fleet, restless)
  const violations = check(evidence)
  if (violations.length > 0) await keep(fleet, evidence)
  const parsed = parseHistory(evidence.history)
  const figures = {
    operations: operationsOf(evidence, parsed).length,
    read_backs: parsed.calls.filter(({ after, status }) => after !== undefined && status !== undefined).length,
    judged_ms: Math.round(performance.now() - begunMs),
  }
  return { violations, figures }
}

/** Keeps the evidence beside the history, so that a violation can be examined and checked again. */
function keep(fleet: Fleet, { history: _, ...evidence }: Evidence): Promise<void> {
  const text = JSON.stringify({ ...evidence, redis: Object.fromEntries(evidence.redis) }, null, 1)
  return writeFile(join(fleet.stateDir, 'log', 'evidence.json'), text)
}

/** Containers beside the labs have keys of their own in their Redis. */
const withoutBeside = (dump: Evidence['redis']): Evidence['redis'] =>
  hasDispatchBeside ? new Map([...dump].filter(([key]) => !key.startsWith(tagBeside))) : dump

/** Waits until the fleet is at rest. Returns what is still in progress when the time is up. */
async function rest(fleet: Fleet, restMs: number): Promise<readonly string[]> {
  const endMs = performance.now() + restMs
  for (;;) {
    const busy = await stirring(fleet).catch(error => [`nobody could be asked: ${error}`])
    if (busy.length === 0 || performance.now() > endMs) return busy
    await new Promise(resolve => setTimeout(resolve, lookMs))
  }
}

async function stirring(fleet: Fleet): Promise<readonly string[]> {
  const operations = await operationsUnderWay(fleet)
  return operations.length > 0 ? operations : leavingObjects(fleet)
}

async function operationsUnderWay({ world: { keys, redis }, terms }: Fleet): Promise<readonly string[]> {
  const families = ['lab', ...(terms.kinds ?? [])].map(kind => keys.family(kind))
  const sets = families.flatMap(({ waiting, owned, deadlines }) => [waiting, owned, deadlines])
  const users = (await Promise.all(sets.map(key => redis.zrange(key, 0, '-1')))).flat()
  const leases = await redis.keys('*lease:*')
  const comparing = (await redis.exists(keys.compareLease)) > 0 || (await redis.pttl(keys.mark)) > markMs - turnMs
  return [
    ...new Set(users.map(user => `an operation of ${user}`)),
    ...leases.map(key => `the lease ${key}`),
    ...(comparing ? ['a compare'] : []),
  ]
}

/** Objects that are being deleted or have to be: they belong to no lab, or to no existing namespace. */
async function leavingObjects({ world }: Fleet): Promise<readonly string[]> {
  const { keys, redis } = world
  const records = new Set((await redis.keys(keys.record('*'))).map(key => key.slice(keys.record('').length)))
  const objects = await world.objects()
  const homes = new Map(objects.filter(({ kind }) => kind === 'Namespace').map(home => [home.namespace, home]))
  return objects
    .filter(({ kind, terminating, user, namespace, owner }) => {
      if (kind === 'Namespace') return terminating || user === undefined || !records.has(user)
      return terminating || homes.get(namespace)?.uid !== owner
    })
    .map(({ kind, namespace, name }) => `${kind} ${namespace}/${name} is on its way out, or should be`)
}

async function gather(fleet: Fleet, restless: readonly string[]): Promise<Evidence> {
  const { world, recorder, terms, expectations, failpoints } = fleet
  const [audit, logs, cluster, redis] = await Promise.all([
    fleet.audit.ofFleet(terms),
    readLogs(fleet),
    world.objects(),
    world.redisDump().then(withoutBeside),
  ])
  const evidence = {
    terms,
    expects: expectations,
    history: recorder.history,
    audit: audit.requests,
    watches: audit.watches,
    logs,
    marks: failpoints.blows(),
    cluster,
    redis,
    restless,
  }
  const users = usersOf({ ...evidence, answers: [], usage: [] }, parseHistory(recorder.history)).slice(0, askedUsers)
  const answers = await Promise.all(fleet.working().map(index => ask(fleet, index, users)))
  return { ...evidence, answers, usage: await measure(fleet) }
}

const telling = /"msg":"(operation [a-z ]+|step|ready)"/

/** The lines about subjects of one kind. */
export async function readLogs(fleet: Fleet, kind = labKind): Promise<readonly LogLine[]> {
  const logs = await Promise.all(
    Array.from({ length: fleet.size }, async (_, index) => {
      const found: LogLine[] = []
      const file = createReadStream(join(fleet.stateDir, 'log', `replica-${index + 1}.log`))
      for await (const text of createInterface({ input: file })) {
        const line = telling.test(text) ? parseLine(text, kind) : undefined
        if (line) found.push(line)
      }
      return found
    }),
  )
  return logs.flat().sort((a, b) => a.atMs - b.atMs)
}

/** The last line of a killed replica may be incomplete. */
function parseLine(text: string, kindOfSubject: string): LogLine | undefined {
  try {
    const { msg, replica, time, op, kind, result, user: ofLab, subject = '' } = JSON.parse(text)
    const of = ofLab === undefined ? parseSubject(subject) : labOf(ofLab)
    const user = of?.kind === kindOfSubject ? of.name : undefined
    return { msg, replica, atMs: Date.parse(time), user, op, kind, result }
  } catch {
    return undefined
  }
}

async function ask(fleet: Fleet, index: number, users: readonly string[]): Promise<Answers> {
  const judge = fleet.as('judge').at(fleet.url(index))
  const list = await judge.labs()
  const labs = await Promise.all(
    users.map(async (user): Promise<[string, Answers['labs'][string]]> => {
      const { status, body } = await judge.status(user)
      return [user, status === 200 ? { status, lab: labValue(body) } : { status }]
    }),
  )
  const names = Array.isArray(list.body) ? list.body : []
  return { replica: `replica-${index + 1}`, list: { status: list.status, names }, labs: Object.fromEntries(labs) }
}

/** Usage of the replicas that have run since the fleet began. */
async function measure(fleet: Fleet): Promise<readonly Usage[]> {
  const lasting = fleet.working().filter(index => fleet.baseline.get(index)?.pid === fleet.replica(index).pid)
  return Promise.all(
    lasting.map(async index => ({
      replica: `replica-${index + 1}`,
      before: fleet.baseline.get(index)!.gauges,
      after: await fleet.measure(index),
    })),
  )
}
