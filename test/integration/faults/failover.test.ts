/** Redis fails over to a replica that lacks the last acknowledged writes. */
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import { Standby } from './standby.ts'
import { expectSurvived, run, startSurvivor, survivingChecks } from './surviving-labs.ts'
import { Traffic } from './traffic.ts'
import * as wave from './wave.ts'

type Place = `lab.${'create' | 'delete'}.${string}`
type End = 'gone' | 'running' | 'failed'

/** One user's story: the data that the copy has and lacks, and the possible outcomes. */
interface Story {
  readonly name: string
  /** Data that the copy has: a running lab, or a held creation. Default: nothing. */
  readonly known?: 'lab' | Place
  /** Acknowledged writes after that, in order. An operation ends unless it is held. */
  readonly lost: readonly ('create' | 'delete' | Place)[]
  readonly ends: readonly End[]
}

/** Held owners continue after the failover, and may carry out writes that Redis acknowledged and lost. */
const stories: readonly Story[] = [
  { name: 'accepted, nothing made', lost: ['lab.create.make.namespace.before-act'], ends: ['gone'] },
  { name: 'half made', lost: ['lab.create.make.service.after-act'], ends: ['gone'] },
  { name: 'made', lost: ['create'], ends: ['running'] },
  { name: 'its end was lost', known: 'lab.create.finish.before-act', lost: ['create'], ends: ['running'] },
  { name: 'deletion accepted', known: 'lab', lost: ['lab.delete.pod.before-act'], ends: ['running', 'failed'] },
  { name: 'deletion begun', known: 'lab', lost: ['lab.delete.pod.after-act'], ends: ['failed'] },
  { name: 'deleted', known: 'lab', lost: ['delete'], ends: ['failed'] },
  { name: 'made anew', known: 'lab', lost: ['delete', 'create'], ends: ['running'] },
  { name: 'anew, half made', known: 'lab', lost: ['delete', 'lab.create.make.secret.after-act'], ends: ['gone'] },
]

const usersPerStory = 3
const survivorCount = 5
/** Replicas switch to the new Redis within this time, one after another. */
const spreadMs = 1500
/** Held owners continue within this time after the last switch. */
const wakeWithinMs = 4000
/** Findings of a compare can be claimed once former owners have stopped: after a lease and the longest request. */
const heldMs = wave.ttlMs + 10_000

interface Actor {
  readonly story: Story
  readonly user: Client
  /** Releases the held owner. */
  release: () => void
}

async function hold(fleet: Fleet, { user }: Actor, place: Place): Promise<() => void> {
  const arm = fleet.arm(place, 'hold', { user: user.username })
  await (place.startsWith('lab.delete') ? fleet.admin.delete(user.username) : user.create())
  await arm.landed()
  return () => arm.release()
}

async function begin(fleet: Fleet, story: Story): Promise<Actor> {
  const actor: Actor = { story, user: fleet.user(), release: () => {} }
  if (story.known === 'lab') await run(actor.user)
  else if (story.known) actor.release = await hold(fleet, actor, story.known)
  return actor
}

/** Writes that Redis acknowledges, and loses in the failover. */
async function lose(fleet: Fleet, actor: Actor): Promise<void> {
  const { story, user } = actor
  for (const step of story.lost) {
    if (step !== 'create' && step !== 'delete') {
      actor.release = await hold(fleet, actor, step)
      continue
    }
    if (step === 'delete') await fleet.admin.delete(user.username)
    else if (story.known === undefined || story.known === 'lab') await user.create()
    else actor.release()
    const { outcome } = await user.follow()
    if (outcome !== 'complete') throw new Error(`${story.name}: ${outcome}`)
  }
}

/** Whether the copy lacks writes that the first Redis acknowledged. */
async function isLost(fleet: Fleet, standby: Standby, { user }: Actor): Promise<boolean> {
  const read = (redis: Fleet['world']['redis']) =>
    redis.hmget(fleet.world.keys.record(user.username), 'op', 'status', 'active')
  return String(await read(fleet.world.redis)) !== String(await read(standby.client))
}

async function stateOf(user: Client): Promise<End | string> {
  const { status, body } = await user.userStatus()
  return status === 404 ? 'gone' : body.status
}

async function failOver(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ proxies: 'open', users: 60 })
  fleet.expects({ redisLoss: true })
  const standby = await Standby.of(fleet)
  trial.context.onTestFinished(() => standby.stop())
  const survivors = await Promise.all(Array.from({ length: survivorCount }, () => startSurvivor(fleet)))
  const cast = stories.flatMap(story => Array.from({ length: usersPerStory }, () => story))
  const actors = await Promise.all(cast.map(story => begin(fleet, story)))
  await standby.caughtUp()
  standby.lag()
  trial.injected(actors.length)
  await Promise.all(actors.map(actor => lose(fleet, actor)))
  for (const actor of actors) if (await isLost(fleet, standby, actor)) trial.landed()

  const traffic = new Traffic(fleet.urls, survivingChecks(fleet, trial, survivors))
  const switched = await standby.promote(fleet.urls.map(() => trial.random() * spreadMs))
  trial.figure('switchMs', switched)
  for (const { release } of actors) setTimeout(release, trial.random() * wakeWithinMs)
  await Promise.all(actors.map(actor => expectEnd(trial, actor)))
  await traffic.stop()
  for (const words of traffic.violations) trial.violation(words)
  await expectSurvived(trial, fleet, survivors)
  await expectNewOps(trial, fleet, actors)
  await wave.expectNothingLeft(
    fleet,
    [...survivors, ...actors].map(({ user }) => user),
  )
}

async function expectEnd(trial: Trial, { story, user }: Actor): Promise<void> {
  const begunMs = performance.now()
  let state = ''
  const isThere = async () => {
    state = await stateOf(user)
    return story.ends.some(end => end === state)
  }
  await eventually(story.name, isThere, heldMs + 30_000).catch(() => trial.violation(`${story.name}: it is ${state}`))
  trial.took(performance.now() - begunMs)
}

/** Every op that any Redis ever accepted was given out once. */
async function expectNewOps(trial: Trial, fleet: Fleet, actors: readonly Actor[]): Promise<void> {
  await Promise.all(actors.map(({ user }) => user.create()))
  const lines = await Promise.all(fleet.urls.map((_, i) => wave.logged(fleet, i, 'operation accepted')))
  const ops = lines.flat().map(({ line }) => line.op)
  const reissued = ops.length - new Set(ops).size
  trial.figure('accepted', ops.length)
  trial.figure('reissued', reissued)
  if (reissued > 0) trial.violation(`${reissued} ops were given out again`)
}

if (isWhole) attack('T8 failover with lost writes', failOver, { limitMs: 300_000 })
