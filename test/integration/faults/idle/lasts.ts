/**
 * idle K5: the latest activity never falls and is never ahead, whatever servers, people and late replicas say; a look that is too
 * old decides nothing; and nobody is stopped without the whole warning, also when the rule is shortened.
 */
import { stamps } from '../../../../src/kube/labels.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { configure } from '../../../kit/fleet/configure.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import {
  activityOf,
  busy,
  calm,
  checksOf,
  type IdleLab,
  idleFleet,
  isRunning,
  pause,
  rule,
  silent,
  startLab,
  startLabs,
  touch,
  untilMustered,
} from './labs.ts'
import { Stops } from './stops.ts'

const year2099 = Date.parse('2099-01-01T00:00:00Z')

/** Reads the latest activity of labs all the time. */
function watchLast(trial: Trial, fleet: Fleet, labs: readonly IdleLab[]) {
  const ending = new AbortController()
  let reads = 0
  const one = async ({ name }: IdleLab) => {
    let before: { pod: string; lastMs: number } | undefined
    while (!ending.signal.aborted) {
      const { pod, last = '0', touched = '0' } = await activityOf(fleet, name)
      const [seconds, micros] = await fleet.world.redis.time()
      const nowMs = Number(seconds) * 1000 + Number(micros) / 1000
      const lastMs = Math.max(Number(last), Number(touched))
      if (lastMs > nowMs) trial.violation(`the activity of ${name} is ${Math.round(lastMs - nowMs)} ms ahead`)
      if (before && before.pod === pod && lastMs < before.lastMs) trial.violation(`the activity of ${name} fell`)
      if (pod !== undefined) before = { pod, lastMs }
      reads += 1
      await pause(20)
    }
  }
  const all = Promise.all(labs.map(one))
  return async () => {
    ending.abort()
    await all
    return reads
  }
}

/** What is said of 2099 counts as now, or not at all: such labs are stopped as all others, or live as liars do. */
async function falseDates(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule({ idleTimeoutSeconds: 2 })], { checkPeriodSeconds: 0.5 }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, 5)
  await untilMustered(fleet, labs)
  const [stamped, unreadable, liar, late, remade] = labs as [IdleLab, IdleLab, IdleLab, IdleLab, IdleLab]
  const end = watchLast(trial, fleet, labs)
  trial.injected(5)
  const stamp = ({ name }: IdleLab, at: string) =>
    fleet.world.kube.patch('Pod', `nb-${name}`, fleet.namespace(name), {
      metadata: { annotations: { [stamps.lastActivity]: at } },
    })
  await stamp(stamped, new Date(year2099).toISOString())
  await stamp(unreadable, 'the day before yesterday')
  liar.fake.behave({ kernels: [{ state: 'idle', lastMs: year2099 }] })
  for (const { fake } of [stamped, unreadable, remade]) fake.behave(silent)
  await lateReplica(trial, fleet, late)
  for (const lab of [stamped, unreadable, remade]) {
    const isStopped = async () => (await stops.requested()).some(({ id }) => id === lab.name)
    const wasStopped = await eventually(`the stop of ${lab.name}`, isStopped, 30_000).catch(() => false)
    if (wasStopped) trial.landed()
    else trial.violation(`${lab.name}, about whom somebody lied, was never stopped`)
  }
  const beforeMs = Number((await activityOf(fleet, liar.name)).last)
  await eventually(
    'two looks at a liar',
    async () => Number((await activityOf(fleet, liar.name)).last) > beforeMs + 500,
  )
  if (await isRunning(liar)) trial.landed()
  await remadeAnew(trial, fleet, remade)
  trial.figure('reads', await end())
  calm(labs)
}

/** A replica sleeps with an old look, and its lab is used meanwhile. */
async function lateReplica(trial: Trial, fleet: Fleet, lab: IdleLab): Promise<void> {
  const { name, fake } = lab
  const arm = fleet.arm('idle.looked', 'stop', { user: `lab:${name}` })
  fake.behave({ kernels: [{ state: 'idle', lastMs: Date.now() - 3_600_000 }] })
  const { replica } = await arm.landed()
  arm.disarm()
  if ((await touch(lab, fleet.url(1 - fleet.indexOf(replica)))) !== 'kept') trial.violation(`${name} was not kept`)
  fake.behave(busy())
  const { touched } = await activityOf(fleet, name)
  await pause(2_500)
  await fleet.kill(fleet.indexOf(replica), 'SIGCONT')
  const asked = checksOf(lab).length
  await eventually(`a check of ${name}`, async () => checksOf(lab).length > asked)
  const now = await activityOf(fleet, name)
  if (Number(now.touched) < Number(touched)) trial.violation(`the use of ${name} is forgotten`)
  if (await isRunning(lab)) trial.landed()
  else trial.violation(`${name} was used while a replica slept, and runs no more`)
}

/** The clock of the next lab begins anew. */
async function remadeAnew(trial: Trial, fleet: Fleet, lab: IdleLab): Promise<void> {
  await lab.user.follow()
  const madeMs = Date.now()
  lab.fake.behave(busy())
  const next = await startLab(trial, fleet, { user: lab.user, fake: lab.fake })
  await untilMustered(fleet, [next])
  const isKnown = async () => (await activityOf(fleet, next.name)).pod === next.podUid
  await eventually(`a look at the next lab of ${lab.name}`, isKnown)
  if (Number((await activityOf(fleet, next.name)).last) < madeMs) trial.violation('the activity of a former lab counts')
}

/** A replica sleeps between its decision and the script, and a cell begins meanwhile, of which Redis knows nothing. */
async function oldLooks(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule()]))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, isWhole ? 6 : 1)
  await untilMustered(fleet, labs)
  for (const lab of labs) {
    trial.injected()
    const arm = fleet.arm('idle.stopping', 'stop', { user: `lab:${lab.name}` })
    lab.fake.behave(silent)
    const { replica } = await arm.landed()
    arm.disarm()
    lab.fake.behave(busy())
    await pause(3_000)
    await fleet.kill(fleet.indexOf(replica), 'SIGCONT')
    const asked = checksOf(lab).length
    const isOver = async () => checksOf(lab).length > asked || (await stops.of(lab.name)).length > 0
    await eventually(`a check of ${lab.name}, or its stop`, isOver)
    if ((await stops.of(lab.name)).length > 0)
      trial.violation(`${lab.name} was busy, and its stop was sent on an old look`)
    else trial.landed()
  }
  calm(labs)
}

const warnSeconds = isWhole ? 8 : 3

/** The rule gives seconds instead of an hour, of which more have passed, and still a whole warning. */
async function shortened(trial: Trial): Promise<void> {
  const long = rule({ idleTimeoutSeconds: 3600, warnSeconds })
  const fleet = await trial.fleet(idleFleet([long], { checkPeriodSeconds: 0.5 }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, isWhole ? 12 : 2, { behaviour: silent })
  await untilMustered(fleet, labs)
  const isLooked = async () =>
    (await Promise.all(labs.map(({ name }) => activityOf(fleet, name)))).every(({ pod }) => pod)
  await eventually('a look at each', isLooked)
  await pause(1_000 * (warnSeconds + 2))
  trial.injected(labs.length)
  for (const index of fleet.working()) {
    configure(fleet, index, config => ({
      ...config,
      idle: { ...config.idle, rules: [rule({ idleTimeoutSeconds: warnSeconds + 1, warnSeconds })] },
    }))
    await fleet.kill(index, 'SIGTERM')
    await fleet.start(index)
  }
  const isOver = async () => (await stops.requested()).length >= labs.length
  await eventually('the stops', isOver, 60_000)
  const told = await toldOf(fleet)
  for (const { id, atMs } of await stops.requested()) {
    const warnedMs = told.findLast(each => each.id === id && each.event === 'warning' && each.atMs <= atMs)?.atMs
    if (warnedMs === undefined) trial.violation(`${id} was stopped without a warning`)
    else if (atMs - warnedMs < 1000 * warnSeconds - 20)
      trial.violation(`${id} was warned ${atMs - warnedMs} ms before its stop, the warning is ${warnSeconds} s`)
    else trial.landed()
    if (warnedMs !== undefined) trial.took(atMs - warnedMs)
  }
  calm(labs)
}

/** Events of all workloads, as everybody's stream has them. */
async function toldOf({ world: { redis, keys } }: Fleet) {
  const entries = await redis.xrange(keys.activityEvents, '-', '+')
  return entries.map(([, fields]) => {
    const of = (name: string) => fields[fields.indexOf(name) + 1]!
    return { event: of('event'), id: of('id'), atMs: Number(of('at')) }
  })
}

const options = { limitMs: 300_000, concurrent: !isWhole }
attack('idle K5 dates that are false', falseDates, options)
attackInFull('idle K5 looks that are too old', oldLooks, options)
attackInFull('idle K5 a rule that is shortened', shortened, options)
