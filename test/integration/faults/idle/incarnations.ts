/**
 * idle K4: between the decision to stop a lab and the script, the lab is deleted and made again. The decision was about another
 * pod: the new lab runs on, and the audit log has no deletion of it.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import { isWhole } from '../points.ts'
import {
  activityOf,
  busy,
  calm,
  counterOf,
  type IdleLab,
  idleFleet,
  isRunning,
  makeDueOnce,
  pause,
  rule,
  silent,
  startLab,
  startLabs,
  untilMustered,
} from './labs.ts'
import { Stops } from './stops.ts'

const labCount = isWhole ? 10 : 1
const rounds = isWhole ? 3 : 1
const overMs = 1_200

/** The same lab again: the user, the name and the address of the former one. */
async function again(trial: Trial, former: IdleLab): Promise<IdleLab> {
  const { fleet, user, fake, name } = former
  const { status } = await fleet.admin.delete(name)
  if (status !== 202) throw new Error(`the deletion of ${name}: ${status}`)
  if ((await user.follow()).outcome !== 'complete') throw new Error(`${name} was not deleted`)
  fake.behave(busy())
  const lab = await startLab(trial, fleet, { user, fake })
  await untilMustered(fleet, [lab])
  if (isWhole) await makeDueOnce(fleet, name)
  const isKnown = async () => (await activityOf(fleet, name)).pod === lab.podUid
  await eventually(`a look at the new lab of ${name}`, isKnown)
  return lab
}

async function strike(trial: Trial, former: IdleLab, stops: Stops): Promise<IdleLab> {
  const { fleet, name } = former
  trial.injected()
  former.fake.behave(silent)
  const arm = fleet.arm('idle.stopping', 'hold', { user: `lab:${name}` })
  await pause(overMs)
  if (arm.marks().length === 0) await makeDueOnce(fleet, name)
  const mark = await arm.landed()
  const lab = await again(trial, former)
  const fromMs = Date.now()
  const late = () => counterOf(fleet, fleet.indexOf(mark.replica), 'skylab_idle_checks_total', 'result="late"')
  const before = await late()
  arm.release()
  const isRefused = async () => (await late()) > before
  const refused = await eventually(`the end of the former check of ${name}`, isRefused, 10_000).catch(() => false)
  arm.disarm()
  const wrong = (await stops.requested()).filter(({ id, atMs }) => id === name && atMs >= mark.atMs)
  if (wrong.length > 0) trial.violation(`a decision on ${former.podUid} stopped ${name}, which is ${lab.podUid}`)
  else if (!(await isRunning(lab))) trial.violation(`the new lab of ${name} runs no more`)
  else if (lab.podUid === former.podUid) trial.violation(`${name} has the same pod as before`)
  else if (refused) trial.landed()
  await judgeAudit(trial, lab, fromMs)
  return lab
}

/** Nothing in the namespace was deleted since the new lab stood. */
async function judgeAudit(trial: Trial, { fleet, name }: IdleLab, fromMs: number): Promise<void> {
  const writes = await fleet.audit.writesOf(fleet.namespace(name))
  const deletions = writes.filter(({ verb, receivedAtMs }) => verb === 'delete' && receivedAtMs >= fromMs)
  for (const { resource, name: of, op } of deletions) trial.violation(`op ${op} deleted ${resource}/${of} of ${name}`)
}

async function madeAgain(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule()], { checkPeriodSeconds: 3600, restPeriodSeconds: 3600 }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, labCount)
  await untilMustered(fleet, labs)
  const last = await Promise.all(
    labs.map(async first => {
      let lab = first
      for (let round = 0; round < rounds; round++) lab = await strike(trial, lab, stops)
      return lab
    }),
  )
  calm(last)
}

attack('idle K4 a lab made again before its stop', madeAgain, { limitMs: 300_000, concurrent: !isWhole })
