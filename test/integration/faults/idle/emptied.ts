/**
 * idle K11: Redis is emptied while users work, or has older data again. Nobody is stopped before the whole time-out has passed
 * since then, and who had asked for time keeps it: it stands in an annotation.
 */

import { stamps } from '../../../../src/kube/labels.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'
import { isWhole } from '../points.ts'
import {
  calm,
  type IdleLab,
  idleFleet,
  isRunning,
  keep,
  pause,
  rule,
  silent,
  startLabs,
  touch,
  untilMustered,
} from './labs.ts'
import { Stops } from './stops.ts'

const timeoutMs = isWhole ? 20_000 : 8_000
const count = isWhole ? 12 : 2
/** By then all that may be stopped is. */
const endMs = timeoutMs + 25_000

interface Cast {
  readonly fleet: Fleet
  readonly stops: Stops
  readonly idle: readonly IdleLab[]
  readonly kept: readonly IdleLab[]
  readonly used: readonly IdleLab[]
}

/** Empties Redis, and gives it back what it knew of activity, as an older copy would. */
async function lose({ world: { redis, keys } }: Fleet, withOlder: boolean): Promise<void> {
  const names = await redis.keys(`${keys.activity('lab', '')}*`)
  const older = await Promise.all(names.map(async name => [name, await redis.hgetall(name)] as const))
  await redis.flushall()
  if (withOlder) await Promise.all(older.map(([name, fields]) => redis.hset(name, fields)))
}

async function prepare(trial: Trial): Promise<Cast> {
  const fleet = await trial.fleet(idleFleet([rule({ idleTimeoutSeconds: timeoutMs / 1000 })]))
  fleet.expects({ redisLoss: true })
  const labs = await startLabs(trial, fleet, 3 * count)
  await untilMustered(fleet, labs)
  return {
    fleet,
    stops: new Stops(fleet),
    idle: labs.slice(0, count),
    kept: labs.slice(count, 2 * count),
    used: labs.slice(2 * count),
  }
}

/** Reports use all the time, whatever the answer is. */
function use(labs: readonly IdleLab[]): () => Promise<void> {
  const ending = new AbortController()
  const one = async (lab: IdleLab) => {
    while (!ending.signal.aborted) {
      await touch(lab).catch(() => {})
      await pause(200)
    }
  }
  const all = Promise.all(labs.map(one))
  return async () => {
    ending.abort()
    await all
  }
}

const isStamped = async ({ fleet, name }: IdleLab) =>
  (await fleet.world.podOf(name))?.metadata.annotations?.[stamps.keepUntil] !== undefined

async function loseUnderLabs(trial: Trial, withOlder: boolean): Promise<void> {
  const { fleet, stops, idle, kept, used } = await prepare(trial)
  const labs = [...idle, ...kept, ...used]
  for (const lab of kept) if ((await keep(lab, 3_600)) !== 'kept') trial.violation(`${lab.name} was not kept`)
  for (const lab of kept) await eventually(`the stamp of ${lab.name}`, () => isStamped(lab))
  const endUse = use(used)
  for (const { fake } of labs) fake.behave(silent)
  // Most of the time-out has passed at the loss.
  await pause(0.7 * timeoutMs)
  trial.injected(labs.length)
  const lostAtMs = Date.now()
  await lose(fleet, withOlder)
  await eventually('a compare', async () => (await fleet.admin.labs()).status === 200)
  await untilMustered(fleet, labs)
  trial.figure('comparedMs', Date.now() - lostAtMs)
  const isOver = async () => (await stops.requested()).length >= idle.length
  await eventually('the stops of idle labs', isOver, endMs)
  await pause(2_000)
  for (const { id, atMs } of await stops.requested()) {
    const ms = atMs - lostAtMs
    if (idle.some(({ name }) => name === id)) trial.took(ms)
    if (ms < timeoutMs) trial.violation(`${id} was stopped ${ms} ms after the loss, the time-out is ${timeoutMs}`)
  }
  for (const lab of kept) if (!(await isRunning(lab))) trial.violation(`${lab.name} was kept, and runs no more`)
  for (const lab of used) if (!(await isRunning(lab))) trial.violation(`${lab.name} was used, and runs no more`)
  trial.landed(labs.length)
  calm(labs)
  await endUse()
}

const options = { limitMs: 300_000, concurrent: !isWhole }
attack('idle K11 Redis emptied under idle labs', trial => loseUnderLabs(trial, false), options)
if (isWhole) attack('idle K11 Redis with older data under idle labs', trial => loseUnderLabs(trial, true), options)
