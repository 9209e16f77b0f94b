/**
 * idle K7: a check that has decided to stop a lab loses it to another replica before the script. Its stop is refused, though
 * nothing else has changed.
 */
import type { Trial } from '../../../kit/attack/attack.ts'
import { attackInFull } from '../in-full.ts'
import { isWhole } from '../points.ts'
import {
  calm,
  type IdleLab,
  idleFleet,
  makeDue,
  makeDueOnce,
  pause,
  rule,
  scoreOf,
  silent,
  startLabs,
  untilMustered,
} from './labs.ts'
import { type Stop, Stops } from './stops.ts'

const labCount = isWhole ? 8 : 2
const rounds = isWhole ? 6 : 1
const overMs = 1_100
/** The other replica must take it while the look is still good. */
const maxTries = 10

/** @returns the answer to the first taker; undefined if its look was too old by then */
async function outrun(lab: IdleLab, stops: Stops): Promise<Stop | undefined> {
  const { fleet, name } = lab
  const user = `lab:${name}`
  const first = fleet.arm('idle.stopping', 'hold', { user })
  await pause(overMs)
  const before = (await stops.of(name)).length
  if (first.marks().length === 0) await makeDueOnce(fleet, name)
  await first.landed()
  const second = fleet.arm('idle.taken', 'hold', { user })
  await makeDue(fleet, name)
  await second.landed()
  first.release()
  const endMs = performance.now() + 1_000
  const stop = await stops.next(name, before, async () => performance.now() > endMs)
  first.disarm()
  lab.fake.behave({ kernels: [{ state: 'busy', lastMs: 0 }] })
  const score = await scoreOf(fleet, name)
  second.release()
  second.disarm()
  if (stop?.result === 'requested') return stop
  await stops.next(name, Number.MAX_SAFE_INTEGER, async () => (await scoreOf(fleet, name)) !== score)
  lab.fake.behave(silent)
  return stop
}

async function strike(trial: Trial, lab: IdleLab, stops: Stops): Promise<boolean> {
  trial.injected()
  let stop: Stop | undefined
  for (let tries = 0; !stop && tries < maxTries; tries++) stop = await outrun(lab, stops)
  if (!stop) return true
  trial.landed()
  if (stop.result === 'changed') return true
  trial.violation(`${lab.name} was stopped by a former taker: ${stop.result}`)
  return false
}

async function outrunChecks(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule()], { checkPeriodSeconds: 3600, restPeriodSeconds: 3600 }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, labCount, { behaviour: silent })
  await untilMustered(fleet, labs)
  await Promise.all(
    labs.map(async lab => {
      for (let round = 0; round < rounds; round++) if (!(await strike(trial, lab, stops))) return
    }),
  )
  calm(labs)
}

attackInFull('idle K7 a check that is outrun', outrunChecks, { limitMs: 300_000, concurrent: !isWhole })
