/** Redis fails over to a copy that lacks the last writes, all of which were acknowledged. */
import { attack, type Fight } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import { Standby } from './standby.ts'
import { expectKept, keep, ofKept, run } from './surviving-labs.ts'
import { Traffic } from './traffic.ts'
import * as wave from './wave.ts'

type Place = `lab.${'create' | 'delete'}.${string}`
type End = 'gone' | 'running' | 'failed'

/** One user's story: what the copy knows of it, what it lacks, and what may come of that. */
interface Story {
  readonly name: string
  /** What the copy has: a lab that runs, or a creation that is held; by default nothing. */
  readonly known?: 'lab' | Place
  /** What was acknowledged after that, in order; operations end where they are not held. */
  readonly lost: readonly ('create' | 'delete' | Place)[]
  readonly ends: readonly End[]
}

/** Held owners go on after the failover: what Redis acknowledged and lost may then still be carried out. */
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
const keptCount = 5
/** Replicas hear of the new Redis within this time, one after another. */
const spreadMs = 1500
/** Owners that are held go on within this time after all have heard. */
const wakeWithinMs = 4000
/** What a compare found is claimed once former owners have stopped: a lease and the longest request later. */
const heldMs = wave.ttlMs + 10_000

interface Actor {
  readonly story: Story
  readonly user: Client
  /** Lets go whoever is held. */
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

/** What is acknowledged and lost. */
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

/** Whether the copy lacks what the first one acknowledged. */
async function isLost(fleet: Fleet, standby: Standby, { user }: Actor): Promise<boolean> {
  const read = (redis: Fleet['world']['redis']) =>
    redis.hmget(fleet.world.keys.record(user.username), 'op', 'status', 'active')
  return String(await read(fleet.world.redis)) !== String(await read(standby.client))
}

async function stateOf(user: Client): Promise<End | string> {
  const { status, body } = await user.userStatus()
  return status === 404 ? 'gone' : body.status
}

async function failOver(fight: Fight): Promise<void> {
  const fleet = await fight.fleet({ proxies: 'open', users: 60 })
  fleet.expects({ redisLoss: true })
  const standby = await Standby.of(fleet)
  fight.context.onTestFinished(() => standby.stop())
  const kept = await Promise.all(Array.from({ length: keptCount }, () => keep(fleet)))
  const cast = stories.flatMap(story => Array.from({ length: usersPerStory }, () => story))
  const actors = await Promise.all(cast.map(story => begin(fleet, story)))
  await standby.caughtUp()
  standby.lag()
  fight.injected(actors.length)
  await Promise.all(actors.map(actor => lose(fleet, actor)))
  for (const actor of actors) if (await isLost(fleet, standby, actor)) fight.landed()

  const traffic = new Traffic(fleet.urls, ofKept(fleet, fight, kept))
  const switched = await standby.promote(fleet.urls.map(() => fight.random() * spreadMs))
  fight.figure('switchMs', switched)
  for (const { release } of actors) setTimeout(release, fight.random() * wakeWithinMs)
  await Promise.all(actors.map(actor => expectEnd(fight, actor)))
  await traffic.stop()
  for (const words of traffic.violations) fight.violation(words)
  await expectKept(fight, fleet, kept)
  await expectNewOps(fight, fleet, actors)
  await wave.expectNothingLeft(
    fleet,
    [...kept, ...actors].map(({ user }) => user),
  )
}

async function expectEnd(fight: Fight, { story, user }: Actor): Promise<void> {
  const begunMs = performance.now()
  let state = ''
  const isThere = async () => {
    state = await stateOf(user)
    return story.ends.some(end => end === state)
  }
  await eventually(story.name, isThere, heldMs + 30_000).catch(() => fight.violation(`${story.name}: it is ${state}`))
  fight.took(performance.now() - begunMs)
}

/** Every number that was ever told of an acceptance, also by the Redis that is no more, was given out once. */
async function expectNewOps(fight: Fight, fleet: Fleet, actors: readonly Actor[]): Promise<void> {
  await Promise.all(actors.map(({ user }) => user.create()))
  const lines = await Promise.all(fleet.urls.map((_, i) => wave.logged(fleet, i, 'operation accepted')))
  const ops = lines.flat().map(({ line }) => line.op)
  const reissued = ops.length - new Set(ops).size
  fight.figure('accepted', ops.length)
  fight.figure('reissued', reissued)
  if (reissued > 0) fight.violation(`${reissued} ops were given out again`)
}

if (isWhole) attack('T8 failover with lost writes', failOver, { limitMs: 300_000 })
