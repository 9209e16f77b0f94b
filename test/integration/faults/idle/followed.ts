/**
 * idle K7: each lab is checked once in a period. A replica that is killed in a check is followed within 20 s and a scan; one that
 * is stopped there wakes too late, and what it writes then is refused. The servers of the labs have counted the checks.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Effect, Mark } from '../../../kit/failpoints/arms.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'
import { isWhole } from '../points.ts'
import {
  calm,
  checksOf,
  counterOf,
  type IdleLab,
  idleFleet,
  isRunning,
  pause,
  rule,
  silent,
  startLabs,
  untilMustered,
} from './labs.ts'
import { Stops } from './stops.ts'

const periodMs = 1_000
/** The time of a taker, the longest pause of a lane, and as long for a busy machine. */
const followMs = 20_000 + 1_000 + 1_000
/** A check that comes a period after another one may be noticed a little earlier. */
const leastMs = 0.75 * periodMs
const quietMs = isWhole ? 30_000 : 3_000
const lateLimitMs = 15_000

interface Blow {
  readonly point: 'idle.taken' | 'idle.looked' | 'idle.stopping'
  readonly effect: Extract<Effect, 'kill' | 'stop'>
}

const all: readonly Blow[] = (['idle.taken', 'idle.looked', 'idle.stopping'] as const).flatMap(point =>
  (['kill', 'stop'] as const).map(effect => ({ point, effect })),
)
const few = all.filter(({ point, effect }) => point === 'idle.looked' && effect === 'stop')
const blows = isWhole ? [...all, ...all] : few

/** No lab is checked twice in a period. */
function judgePeriods(trial: Trial, labs: readonly IdleLab[], fromMs: number): void {
  for (const lab of labs) {
    const times = checksOf(lab).filter(atMs => atMs >= fromMs)
    const gaps = times.slice(1).map((atMs, i) => atMs - times[i]!)
    const twice = gaps.filter(ms => ms < leastMs)
    if (twice.length > 0) trial.violation(`${lab.name} was checked twice within ${Math.min(...twice)} ms`)
  }
}

/** The first check of a lab by another replica, ms after the blow. */
async function followed(trial: Trial, lab: IdleLab, { atMs }: Mark, words: string): Promise<void> {
  const next = async () => checksOf(lab).find(each => each > atMs)
  const ms = (await eventually(`a check of ${lab.name} after ${words}`, next, 2 * followMs)) - atMs
  trial.took(ms)
  if (ms > followMs) trial.violation(`${words}: ${lab.name} was checked after ${ms} ms`)
}

/** Whether a late end of the check was refused. */
async function isRefused({ fleet }: IdleLab, index: number, before: number): Promise<boolean> {
  const late = async () => (await lateOf(fleet, index)) > before
  return eventually('a late write that is refused', late, lateLimitMs).then(
    () => true,
    () => false,
  )
}

async function strike(trial: Trial, lab: IdleLab, stops: Stops, { point, effect }: Blow): Promise<void> {
  const { fleet, name, fake } = lab
  const words = `${effect} at ${point}`
  trial.injected()
  const before = await lateCounts(fleet)
  const arm = fleet.arm(point, effect, { user: `lab:${name}` })
  if (point === 'idle.stopping') fake.behave(silent)
  const mark = await arm.landed()
  arm.disarm()
  const index = fleet.indexOf(mark.replica)
  // A stop has no part yet that was carried out.
  if (!(await isRunning(lab))) trial.violation(`${words}: ${name} does not run`)
  await followed(trial, lab, mark, words)
  if (effect === 'kill') {
    await fleet.start(index)
    trial.landed()
  } else {
    await fleet.kill(index, 'SIGCONT')
    if (await isRefused(lab, index, before.get(index) ?? 0)) trial.landed()
    else trial.violation(`${words}: a late write was not refused`)
  }
  if (point !== 'idle.stopping') return
  const isStopped = async () => (await stops.requested()).some(({ id }) => id === name)
  await eventually(`the stop of ${name} by another replica`, isStopped, followMs)
}

/** By replica: ends of checks that were refused so far. One that dies meanwhile is asked no more. */
async function lateCounts(fleet: Fleet): Promise<Map<number, number>> {
  const counts = fleet.working().map(async index => [index, await lateOf(fleet, index).catch(() => 0)] as const)
  return new Map(await Promise.all(counts))
}

/** One that wakes before its look finds its watches silent, and asks nobody. */
async function lateOf(fleet: Fleet, index: number): Promise<number> {
  const of = (result: string) => counterOf(fleet, index, 'skylab_idle_checks_total', `result="${result}"`)
  return (await of('late')) + (await of('blind'))
}

async function followedChecks(trial: Trial): Promise<void> {
  const replicas = isWhole ? 4 : 3
  const fleet = await trial.fleet(idleFleet([rule({ idleTimeoutSeconds: 2 })], {}, { replicas }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, blows.length + 4)
  await untilMustered(fleet, labs)
  await eventually('checks of all', async () => labs.every(lab => checksOf(lab).length > 1))
  const fromMs = Date.now()
  await pause(quietMs)
  judgePeriods(trial, labs, fromMs)
  const struck = labs.slice(0, blows.length)
  const others = labs.slice(blows.length)
  // One after another: a second blow could hit the replica that follows the first.
  for (const [index, blow] of blows.entries()) await strike(trial, struck[index]!, stops, blow)
  calm(labs)
  judgePeriods(trial, others, fromMs)
  trial.figure(
    'checks',
    labs.reduce((sum, lab) => sum + checksOf(lab).length, 0),
  )
}

attack('idle K7 a replica that dies or sleeps in a check', followedChecks, { limitMs: 900_000, concurrent: !isWhole })
