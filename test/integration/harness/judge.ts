/** What became of the promises in one fleet: its evidence at rest, held against the invariants of `check.ts`. */
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { waitUntil } from '../../../box/api-client.ts'
import type { Answers, Evidence, LogLine, Usage } from './check/evidence.ts'
import { toldBy } from './check/evidence.ts'
import { usersOf } from './check/operations.ts'
import { check, type Violation } from './check.ts'
import type { Fleet } from './fleet.ts'
import { labValue } from './recorder.ts'

export type { Violation } from './check.ts'

/** Within which a fleet comes to rest: a lease that runs out after data were lost, then the deletion of what is left. */
const restLimitMs = 60_000
/** Of more users not every replica is asked for each. */
const askedUsers = 100

/** Judges a fleet, before it is stopped: lets go what is held, waits for rest, gathers the evidence, and checks it. */
export async function judge(fleet: Fleet): Promise<readonly Violation[]> {
  fleet.armoury.letGo()
  await Promise.all(fleet.stopped().map(index => fleet.kill(index, 'SIGCONT')))
  await fleet.recorder.close()
  // One that was just started again, or continued, is asked when it can answer.
  await fleet.ready().catch(() => {})
  const restless = await rest(fleet)
  return check(await gather(fleet, restless))
}

/** Waits until nothing goes on any more. Gives what still does when the time is up. */
async function rest(fleet: Fleet): Promise<readonly string[]> {
  let busy: readonly string[] = ['nobody could be asked']
  const isAtRest = async () => {
    busy = await stirring(fleet)
    return busy.length === 0
  }
  await waitUntil(isAtRest, { what: 'rest', limitMs: restLimitMs }).catch(() => {})
  return busy
}

async function stirring({ world }: Fleet): Promise<readonly string[]> {
  const { keys, redis } = world
  const sets = [keys.waiting, keys.owned, keys.deadlines]
  const users = (await Promise.all(sets.map(key => redis.zrange(key, 0, '-1')))).flat()
  const leases = await redis.keys('*:lease:*')
  const comparing = await redis.exists(keys.mark, keys.compareLease)
  const records = new Set((await redis.keys(keys.record('*'))).map(key => key.slice(keys.record('').length)))
  const objects = await world.objects()
  const homes = new Map(objects.filter(({ kind }) => kind === 'Namespace').map(home => [home.namespace, home]))
  const onTheirWay = objects.filter(({ kind, terminating, user, namespace, owner }) => {
    if (kind === 'Namespace') return terminating || user === undefined || !records.has(user)
    return terminating || homes.get(namespace)?.uid !== owner
  })
  return [
    ...new Set(users.map(user => `an operation of ${user}`)),
    ...leases.map(key => `the lease ${key}`),
    ...(comparing > 0 ? ['a compare'] : []),
    ...onTheirWay.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name} is on its way out, or should be`),
  ]
}

async function gather(fleet: Fleet, restless: readonly string[]): Promise<Evidence> {
  const { world, recorder, terms, expectations, armoury } = fleet
  const [audit, logs, cluster, redis] = await Promise.all([
    fleet.audit.ofFleet(terms),
    readLogs(fleet),
    world.objects(),
    world.redisDump(),
  ])
  const evidence = {
    terms,
    expects: expectations,
    history: recorder.history,
    audit: audit.requests,
    watches: audit.watches,
    logs,
    marks: armoury.blows(),
    cluster,
    redis,
    restless,
  }
  const users = usersOf({ ...evidence, answers: [], usage: [] }, toldBy(recorder.history)).slice(0, askedUsers)
  const answers = await Promise.all(fleet.working().map(index => ask(fleet, index, users)))
  return { ...evidence, answers, usage: await measure(fleet) }
}

const telling = /"msg":"(operation [a-z ]+|step|ready)"/

async function readLogs(fleet: Fleet): Promise<readonly LogLine[]> {
  const logs = await Promise.all(
    Array.from({ length: fleet.size }, async (_, index) => {
      const found: LogLine[] = []
      const file = createReadStream(join(fleet.stateDir, 'log', `replica-${index + 1}.log`))
      for await (const line of createInterface({ input: file })) {
        if (!telling.test(line)) continue
        const { msg, replica, time, user, op, kind, result } = JSON.parse(line)
        found.push({ msg, replica, atMs: Date.parse(time), user, op, kind, result })
      }
      return found
    }),
  )
  return logs.flat().sort((a, b) => a.atMs - b.atMs)
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

/** Of the replicas that have lived since the fleet began. */
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
