/**
 * idle K9: a stop that was requested ends, whenever its owner is killed; nothing foreign is touched. Each point of the deletion of
 * an idle lab has a lab of its own, and the audit log says who deleted what.
 */
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import { eventually } from '../../../kit/cluster/world.ts'
import type { Fleet } from '../../../kit/fleet/fleet.ts'
import { allPoints, isWhole } from '../points.ts'
import { calm, type IdleLab, idleFleet, isRunning, rule, silent, startLabs, untilMustered } from './labs.ts'
import { Stops } from './stops.ts'

const endLimitMs = 60_000
const bystanders = 2

/** Where an owner of the deletion is killed. The stamp of the pod is the first step of a stop alone. */
const ofDeletion = allPoints().flatMap(({ story, name }) =>
  story === 'delete' && !name.endsWith('.accepted') && !name.startsWith('lab.claim') ? [name] : [],
)
const ofStamp = ['before-act', 'after-act'].map(place => `lab.delete.stamp.${place}`)
const whole = ['idle.stopping', 'lab.claim.before-act', ...ofStamp, ...ofDeletion]
const few = ['lab.delete.stamp.after-act']
const points = isWhole ? whole : few

async function strike(trial: Trial, lab: IdleLab, stops: Stops, point: string): Promise<void> {
  const { fleet, name, fake, user } = lab
  trial.injected()
  const of = point.startsWith('idle.') ? `lab:${name}` : name
  const arm = fleet.arm(point, 'kill', { user: of })
  fake.behave(silent)
  const mark = await arm.landed(1, endLimitMs)
  trial.landed()
  arm.disarm()
  const isRequested = async () => (await stops.of(name)).some(({ result }) => result === 'requested')
  const before = await isRequested()
  await fleet.start(fleet.indexOf(mark.replica))
  const begunMs = performance.now()
  const gone = async () => (await fleet.admin.status(name)).status === 404
  const ended = await eventually(`the end of ${name}`, gone, endLimitMs).catch(() => false)
  if (!ended) trial.violation(`${point}: the stop of ${name} was requested, and it has not ended`)
  if (before) trial.took(performance.now() - begunMs)
  const left = await fleet.world.leftOf(user.username)
  if (ended && left.length > 0) trial.violation(`${point}: ${left[0]} is left`)
}

/** All deletions of the controller are of labs whose stop was requested, each object once. */
async function judgeAudit(trial: Trial, fleet: Fleet, labs: readonly IdleLab[]): Promise<void> {
  const stopped = new Set(labs.map(({ name }) => fleet.namespace(name)))
  const writes = (await fleet.audit.writesOf(fleet.namespacePrefix)).filter(({ verb }) => verb.startsWith('delete'))
  const foreign = writes.filter(({ namespace }) => !stopped.has(namespace))
  for (const { resource, namespace, name } of foreign)
    trial.violation(`${resource}/${name} of ${namespace} was deleted`)
  trial.figure('deletions', writes.length)
}

async function killsAtEachStep(trial: Trial): Promise<void> {
  const fleet = await trial.fleet(idleFleet([rule()], {}, { replicas: 3, users: points.length + bystanders }))
  const stops = new Stops(fleet)
  const labs = await startLabs(trial, fleet, points.length)
  const others = await startLabs(trial, fleet, bystanders)
  await untilMustered(fleet, [...labs, ...others])
  // One after another: a replica that is killed may own the deletions of others.
  for (const [index, point] of points.entries()) await strike(trial, labs[index]!, stops, point)
  for (const lab of others) if (!(await isRunning(lab))) trial.violation(`${lab.name} was never idle, and runs no more`)
  await judgeAudit(trial, fleet, labs)
  calm(others)
}

attack('idle K9 kills at each step of a stop', killsAtEachStep, { limitMs: 900_000, concurrent: !isWhole })
