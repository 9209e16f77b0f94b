/** Redis is emptied, or restarted empty, while clients send all kinds of requests to every replica. */
import { isDeepStrictEqual } from 'node:util'
import type { LabEvent } from '../../../src/base/domain.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Arm } from '../../kit/failpoints/failpoint-arms.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { flushAll, type Lose, restartEmpty } from './losses.ts'
import { isWhole } from './points.ts'
import { expectSurvived, run, startSurvivor, survivingChecks } from './surviving-labs.ts'
import { insist, type Question, Traffic } from './traffic.ts'
import * as wave from './wave.ts'

const survivorCount = 10
/** Points that hold creations, none of which has a lab yet, and deletions when the data are lost. */
const creations = ['make.namespace.before-act', 'make.namespace.after-act', 'make.content.after-commit']
  .concat('make.service.after-act', 'make.pod.before-act')
  .map(place => `lab.create.${place}`)
/** From here an owner makes the pod before it needs Redis again: its last write to Redis was the end of the content. */
const makesPod = ['make.content.after-commit', 'make.pod.before-act'].map(place => `lab.create.${place}`)
const deletions = ['pod.before-act', 'pod.after-act', 'pod-gone.after-commit', 'namespace.before-act']
  .concat('namespace.after-act')
  .map(place => `lab.delete.${place}`)
/** Owners that do not know of the loss continue within this time, each at its own moment. */
const wakeWithinMs = 4000
/** Open streams must end within this time. */
const endsWithinMs = 2000
/** Limit for the removal of a namespace: the cluster may still be removing hundreds of another attack. */
const removedMs = 120_000

/** A user in the middle of an operation. `end` is the last event of the stream, and its time. */
interface Held {
  readonly user: Client
  readonly arm: Arm
  readonly end: Promise<{ readonly last: LabEvent | undefined; readonly atMs: number }>
}

async function hold(fleet: Fleet, point: string): Promise<Held> {
  const user = fleet.user()
  const isDeletion = point.startsWith('lab.delete')
  if (isDeletion) await run(user)
  const arm = fleet.arm(point, 'hold', { user: user.username })
  await (isDeletion ? fleet.admin.delete(user.username) : user.create())
  await arm.landed()
  const stream = await user.events()
  const end = (async () => {
    let [last, atMs]: [LabEvent | undefined, number] = [undefined, 0]
    for await (const event of stream) [last, atMs] = [event, performance.now()]
    return { last, atMs }
  })()
  return { user, arm, end }
}

const ofHeld = (fleet: Fleet, held: readonly Held[]): Question[] =>
  held.map(({ user }) => ({
    what: `GET of ${user.username}, who has an operation in progress`,
    ask: url => fleet.admin.at(url).status(user.username),
    allows: ({ status }) => status === 200 || status === 404,
  }))

/** Deletes a lab and creates another, through each replica. */
function mixIn(fleet: Fleet, doomed: readonly Client[], newcomers: readonly Client[]): Promise<unknown> {
  return Promise.all(
    fleet.urls.map(async (url, i) => {
      const [deleted, created] = await Promise.all([
        insist(() => fleet.admin.at(url).delete(doomed[i]!.username)),
        insist(() => newcomers[i]!.at(url).create()),
      ])
      return [deleted.status, created.status]
    }),
  )
}

/** Waits for the end of each held operation. */
async function settle(trial: Trial, fleet: Fleet, held: readonly Held[], lostAtMs: number): Promise<void> {
  for (const [i, { user, arm, end }] of held.entries()) {
    const point = arm.marks()[0]!.point
    const { last, atMs } = await end
    // An owner that continues without Redis may have started the lab before the first compare: then the lab stays.
    const isKept = last?.event === 'complete' && makesPod.includes(point) && (await runs(fleet, user))
    if (last?.event !== 'failed' && !isKept) {
      trial.violation(`${point}: its stream ended with ${JSON.stringify(last)}`)
    }
    if (atMs - lostAtMs > endsWithinMs) trial.violation(`${point}: its stream ended after ${atMs - lostAtMs} ms`)
    trial.took(atMs - lostAtMs)
    if (i < creations.length && !isKept)
      await eventually(`${point}: the end of the lab`, () => isGone(fleet, user), removedMs)
  }
}

async function runs(fleet: Fleet, user: Client): Promise<boolean> {
  const answers = await Promise.all(fleet.urls.map(url => user.at(url).userStatus()))
  return answers.every(({ body }) => body.status === 'running')
}

async function isGone(fleet: Fleet, user: Client): Promise<boolean> {
  const answers = await Promise.all(fleet.urls.map(url => user.at(url).userStatus()))
  return answers.every(({ status }) => status === 404) && (await fleet.world.namespaceOf(user.username)) === null
}

async function loseUnderTraffic(trial: Trial, lose: Lose): Promise<void> {
  const fleet = await trial.fleet({ users: 60 })
  fleet.expects({ redisLoss: true })
  const survivors = await Promise.all(Array.from({ length: survivorCount }, () => startSurvivor(fleet)))
  const doomed = fleet.urls.map(() => fleet.user())
  const newcomers = fleet.urls.map(() => fleet.user())
  await Promise.all(doomed.map(run))
  trial.injected(1 + creations.length + deletions.length)
  const held = await Promise.all([...creations, ...deletions].map(point => hold(fleet, point)))
  trial.landed(held.length)

  const traffic = new Traffic(fleet.urls, [...survivingChecks(fleet, trial, survivors), ...ofHeld(fleet, held)])
  await eventually('traffic', async () => traffic.asked > 200)
  const before = { asked: traffic.asked, putOff: traffic.putOff }
  // No compare ends before a request got a 503: so the loss lands while requests go on.
  const comparing = fleet.arm('compare.begun', 'hold')
  const lostAtMs = performance.now()
  const bringBack = await lose(fleet)
  const mixed = mixIn(fleet, doomed, newcomers)
  const woken = held.map(({ arm }) => setTimeout(() => arm.release(), trial.random() * wakeWithinMs))
  trial.context.onTestFinished(() => woken.forEach(clearTimeout))
  await eventually('a 503', async () => traffic.putOff > before.putOff)
  trial.landed()
  await bringBack()
  comparing.release()
  for (const statuses of (await mixed) as number[][]) {
    if (!isDeepStrictEqual(statuses, [202, 303])) trial.violation(`DELETE and create were answered ${statuses}`)
  }
  await settle(trial, fleet, held, lostAtMs)
  for (const user of doomed) if ((await user.follow()).outcome !== 'complete') trial.violation('a deletion failed')
  for (const user of newcomers) if ((await user.follow()).outcome !== 'complete') trial.violation('a creation failed')
  trial.figure('consistentMs', Math.round(traffic.lastPutOffMs - lostAtMs))
  await traffic.stop()
  trial.figure('requests', traffic.asked)
  trial.figure(
    'requestsPerSecond',
    Math.round((traffic.asked - before.asked) / ((performance.now() - lostAtMs) / 1000)),
  )
  trial.figure('putOff', traffic.putOff)
  for (const words of traffic.violations) trial.violation(words)
  await expectSurvived(trial, fleet, survivors)
  const users = [...survivors.map(({ user }) => user), ...held.map(({ user }) => user), ...doomed, ...newcomers]
  await wave.expectNothingLeft(fleet, users)
}

if (isWhole) {
  const limitMs = 120_000 + removedMs
  attack('T7 FLUSHALL under traffic', trial => loseUnderTraffic(trial, flushAll), { limitMs })
  attack('T7 restarted empty under traffic', trial => loseUnderTraffic(trial, restartEmpty), { limitMs })
}
