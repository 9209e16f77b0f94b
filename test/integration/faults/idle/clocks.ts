/**
 * idle K6: the clocks of Redis, of replicas and of nodes are stepped by an hour, forward and back. Nobody is stopped before the
 * time-out has really passed since their last use, and after a step of Redis' clock since that; then they are. Each step is read
 * back.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'
import { stepRedis, stepReplica } from '../clock-steps.ts'
import { isWhole } from '../points.ts'
import {
  calm,
  type IdleLab,
  idleFleet,
  isRunning,
  pause,
  rule,
  silent,
  startLabs,
  touch,
  untilMustered,
} from './labs.ts'
import { Stops } from './stops.ts'

const hour = 3600
const timeoutMs = isWhole ? 8_000 : 5_000
const perStep = isWhole ? 4 : 2
/** They are stopped by then, also where a replica has to wait for the time of a taker. */
const endMs = timeoutMs + 40_000

interface Step {
  readonly words: string
  /** @returns whether the step is seen */
  readonly take: (fleet: Fleet, labs: readonly IdleLab[]) => Promise<boolean>
  /** The idle clocks begin anew. */
  readonly anew: boolean
}

const redisTo = (offSeconds: number): Step => ({
  words: `Redis' clock to ${offSeconds} s`,
  anew: true,
  take: fleet => stepRedis(fleet, offSeconds),
})

const replicasTo = (offSeconds: number): Step => ({
  words: `the replicas' clocks to ${offSeconds} s`,
  anew: false,
  take: async fleet => {
    const stepped = fleet.working().map(index => stepReplica(fleet, index, offSeconds))
    return (await Promise.all(stepped)).every(Boolean)
  },
})

/** Its kernels tell the time by the same clock. */
const nodesTo = (offSeconds: number): Step => ({
  words: `the nodes' clocks to ${offSeconds} s`,
  anew: false,
  take: async (_, labs) => {
    const aheadMs = offSeconds * 1000
    for (const { fake } of labs) {
      fake.behave({ aheadMs, kernels: [{ state: 'idle', lastMs: Date.now() + aheadMs - 1000 }] })
    }
    const [lab] = labs
    const answer = await fetch(`http://${lab!.fake.address}:${lab!.fake.port}${lab!.prefix}api/kernels`)
    return Math.abs(Date.parse(answer.headers.get('date')!) - Date.now() - aheadMs) < 5_000
  },
})

const steps: readonly Step[] = isWhole
  ? [
      ...[hour, 0, -hour, 0].map(redisTo),
      ...[hour, -hour, 0].map(replicasTo),
      ...[hour, -hour].map(nodesTo),
      ...[hour, -hour].map(redisTo),
    ]
  : [redisTo(hour)]

/** The lines of a log are written by a clock that may be stepped: so the time of a stop is when it is seen here. */
async function strike(trial: Trial, fleet: Fleet, stops: Stops, { words, take, anew }: Step): Promise<void> {
  const labs = await startLabs(trial, fleet, perStep)
  await untilMustered(fleet, labs)
  for (const { fake } of labs) fake.behave(silent)
  for (const lab of labs) if ((await touch(lab)) !== 'kept') trial.violation(`${words}: ${lab.name} was not there`)
  const usedMs = performance.now()
  // Late in the time-out, so that any hour would end it.
  await pause(0.4 * timeoutMs)
  trial.injected()
  if (await take(fleet, labs)) trial.landed()
  const steppedMs = performance.now()
  const sinceMs = anew ? steppedMs - 1_000 : usedMs
  await Promise.all(
    labs.map(async ({ name }) => {
      const isStopped = async () => (await stops.requested()).some(({ id }) => id === name)
      await eventually(`${words}: the stop of ${name}`, isStopped, endMs)
      const ms = performance.now() - sinceMs
      trial.took(ms)
      if (ms < timeoutMs) trial.violation(`${words}: ${name} was stopped after ${Math.round(ms)} of ${timeoutMs} ms`)
    }),
  )
  for (const { user } of labs) if ((await user.follow()).outcome !== 'complete') trial.violation(`${words}: no end`)
}

async function stepClocks(trial: Trial): Promise<void> {
  const aged = rule({ name: 'aged', match: { users: ['aged-*'] }, maxAgeSeconds: hour / 2, idleTimeoutSeconds: hour })
  const rules = [aged, rule({ idleTimeoutSeconds: timeoutMs / 1000 })]
  const times = { spawnTimeoutSeconds: 4 * hour, deleteTimeoutSeconds: 4 * hour }
  const people = { 'aged-ada': {} }
  const users = steps.length * perStep
  const fleet = await trial.fleet(
    idleFleet(rules, {}, { redis: { wrongClock: true }, config: { times }, people, users }),
  )
  // A step forward is longer than streams of labs that are gone stay; `strike` follows each to its end.
  fleet.expects({ clocksStep: true, streamsExpire: true })
  const stops = new Stops(fleet)
  const [old] = await startLabs(trial, fleet, 1, { user: fleet.as('aged-ada') })
  await untilMustered(fleet, [old!])
  for (const step of steps) await strike(trial, fleet, stops, step)
  if (!(await isRunning(old!))) trial.violation('a lab was stopped for an age that it does not have')
  const held = (await stops.requested()).length
  trial.figure('stops', held)
  trial.figure('refusedByClock', stops.all.filter(({ result }) => result === 'clock').length)
  calm([old!])
}

attack('idle K6 clocks that step', stepClocks, { limitMs: 900_000, concurrent: !isWhole })
