/**
 * Attacks on what custom resources declare, with samples: N2 (queues and a silent Redis delay no revocation), N4 (writers
 * that differ). Late writes are in `late-declarations.test.ts`, strangers in `strangers-declarations.test.ts`.
 */
import { Redis } from 'ioredis'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Fenced } from '../../../src/base/errors.ts'
import { rivalsDefaults } from '../../../src/reconcile/rivals.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { otherObjects } from '../../kit/reconcile/sample.ts'
import { remake, revoke, startFleet } from '../../kit/reconcile/sample-attacks.ts'
import type { SampleFleet } from '../../kit/reconcile/sample-fleet.ts'
import { routesIn } from '../../kit/reconcile/sample-route.ts'
import { wrong, wrongColours } from '../../kit/reconcile/sample-state.ts'
import { isWhole } from './points.ts'

const parents = isWhole ? 300 : 20
const quietMs = isWhole ? 60_000 : 5_000
const crowd = isWhole ? 1_000 : 100
/** People who edit at the same time, each their own parents. */
const editors = 4

const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `s${i}`)

async function createAll(fleet: SampleFleet, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name, i) => fleet.create(name, { colour: `c${i % 5}` })))
}

/** One edit of a parent, or of an object of it by somebody else. */
async function editAtRandom(trial: Trial, fleet: SampleFleet, names: readonly string[], i: number): Promise<void> {
  const name = names[Math.floor(trial.random() * names.length)]!
  trial.injected()
  switch (Math.floor(trial.random() * 6)) {
    case 0:
      await fleet.edit(name, { members: [`m${i}`] })
      break
    case 1:
      await fleet.edit(name, { image: `app:${i}` })
      break
    case 2:
      await fleet.edit(name, { colour: `c${i % 7}` })
      break
    case 3:
      await fleet.drop(name)
      await fleet.create(name, { members: [`n${i}`], colour: `c${i % 3}` })
      break
    case 4:
      await fleet.kube.request('DELETE', `${fleet.path('services')}/s-${name}`)
      break
    default:
      await fleet.kube.request('PATCH', `${fleet.path('deployments')}/s-${name}`, {
        spec: { replicas: 0, paused: i % 2 === 0, revisionHistoryLimit: 3 },
      })
  }
  trial.landed()
}

/** All is as wished, and nothing is written any more. */
async function judgeRest(trial: Trial, fleet: SampleFleet, names: readonly string[]): Promise<void> {
  const isRight = async () => (await wrongColours(fleet.kube, fleet.namespace)).length === 0
  await Promise.all(names.map(name => fleet.settled(name, 240_000)))
  await waitUntil(isRight, { what: 'the shared objects have their parents as owners', limitMs: 60_000 })
  await systemClock.sleep(2_000)
  const before = fleet.writes().length
  await systemClock.sleep(quietMs)
  const more = fleet.writes().length - before
  trial.figure('writes', before)
  trial.figure('writesAtRest', more)
  if (more > 0) trial.violation(`${more} writes at rest in ${quietMs} ms`)
}

async function randomEdits(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial)
  const names = namesOf(parents)
  trial.figure('parents', parents)
  await createAll(fleet, names)
  const editor = async (index: number) => {
    const own = names.filter((_, i) => i % editors === index)
    for (let i = index; i < parents * 4; i += editors) await editAtRandom(trial, fleet, own, i)
  }
  await Promise.all(Array.from({ length: editors }, (_, index) => editor(index)))
  await judgeRest(trial, fleet, names)
}

/** @param most writes of one release for one parent in one pause */
async function rivalReleases(trial: Trial, flavour: string, most: number): Promise<void> {
  const rivals = isWhole ? rivalsDefaults : undefined
  const fleet = await startFleet(trial, { replicas: 2, rivals })
  const { pauseMs } = fleet.rivals
  const names = namesOf(isWhole ? parents : 3)
  await createAll(fleet, names)
  await Promise.all(names.map(name => fleet.settled(name, 120_000)))
  trial.injected(names.length)
  await fleet.add('other', flavour)
  const areContended = async () => {
    const samples = await fleet.kube.list(fleet.path('samples'))
    return samples.every(({ status }) => (status as { phase?: string } | undefined)?.phase === 'Contended')
  }
  await waitUntil(areContended, { what: 'all are contended', limitMs: 180_000 })
  trial.landed(names.length)
  const before = fleet.writes().length
  await systemClock.sleep(3 * pauseMs)
  const perParent = (fleet.writes().length - before) / names.length
  trial.figure('writesPerParentIn3Pauses', Number(perParent.toFixed(2)))
  // One pause may begin before.
  if (perParent > 4 * 2 * most) trial.violation(`they fight: ${perParent} writes for each parent in 3 pauses`)
  await fleet.remove('other')
  await judgeRest(trial, fleet, names)
  const left = (await fleet.kube.list(fleet.path('configmaps'))).filter(({ metadata }) => /^s-/.test(metadata.name))
  if (left.length > 0) trial.violation(`${left.length} objects of the other release are left`)
}

/** Each release changes the object once in a pause, and its status twice at most. */
const twoReleases = (trial: Trial) => rivalReleases(trial, 'b', 3)

/** Each release makes the object that the other does not want, and removes the other's. */
const twoSetsOfObjects = (trial: Trial) => rivalReleases(trial, otherObjects, 4)

async function revocationPasses(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial)
  await fleet.create('old', { members: ['ada', 'eve', 'bob'] })
  await fleet.settled('old')
  const names = Array.from({ length: crowd }, (_, i) => `new-${i}`)
  await Promise.all(names.map((name, i) => fleet.create(name, { colour: `c${i % 100}` })))
  const countMade = async () => (await fleet.kube.list(fleet.path('rolebindings'))).length - 1
  // The requests that made the crowd are over then, and its queue is worked on.
  await waitUntil(async () => (await countMade()) > 0, { what: 'the first of the crowd', limitMs: 60_000 })
  await revoke(trial, fleet, 'old', ['ada', 'bob'])
  await revoke(trial, fleet, 'old', ['ada'])
  await remake(trial, fleet, 'old', ['ada'])
  const made = await countMade()
  trial.figure('madeMeanwhile', made)
  if (made >= crowd) trial.violation('the queue was empty before the revocation')
}

/** A route of an older generation is refused by its script, and one of another UID is nothing to it. */
async function judgeFence(trial: Trial, fleet: SampleFleet, uid: string): Promise<void> {
  await fleet.edit('new', { image: 'app:2' })
  await fleet.settled('new')
  const before = await fleet.route(uid)
  const redis = new Redis(fleet.redis.url)
  const write = routesIn(redis, fleet.namespace)
  const { signal } = new AbortController()
  const answer = await write({ uid, generation: 1, image: 'late' }, signal).catch(error => error)
  await write({ uid: 'a former one', generation: 9, image: 'late' }, signal)
  redis.disconnect()
  const isRefused = answer instanceof Fenced && (await fleet.route(uid)) === before
  if (!isRefused) trial.violation(`a late route was written: ${await fleet.route(uid)}`)
}

/** Redis is halted, then a replica that holds leases is. Neither delays a revocation, and the first delays nothing. */
async function silentRedis(trial: Trial): Promise<void> {
  const fleet = await startFleet(trial)
  await fleet.create('old', { members: ['ada', 'eve', 'bob'] })
  await fleet.settled('old')
  await fleet.redis.pause()
  await revoke(trial, fleet, 'old', ['ada', 'bob'])
  const { metadata } = await fleet.create('new')
  const status = async () => (await fleet.read('new')).parent?.status ?? {}
  const isDue = async () => (await status()).message === 'route waits for Redis'
  await waitUntil(isDue, { what: 'all but the route is made', limitMs: 5_000 })
  if (wrong(await fleet.read('new')) !== undefined) trial.violation('objects wait for Redis')
  await fleet.redis.resume()
  await fleet.settled('new')
  await judgeFence(trial, fleet, metadata.uid!)
  const key = `${fleet.namespace}/old`
  const arm = fleet.failpoints.arm('reconcile.sample.change.Deployment.before-send', 'stop', { user: key })
  await fleet.edit('old', { image: 'app:2' })
  const { replica } = await arm.landed()
  await revoke(trial, fleet, 'old', ['ada'])
  fleet.signal(replica, 'SIGCONT')
  await fleet.settled('old')
}

attack('N4 random edits of declarations', randomEdits, { limitMs: 900_000 })
attack('N4 two releases with different wishes', twoReleases, { limitMs: 900_000 })
attack('N4 two releases that want different objects', twoSetsOfObjects, { limitMs: 900_000 })
attack('N2 a revocation passes a crowd of creations', revocationPasses)
attack('N2 a revocation without Redis, or without the holder of the lease', silentRedis)
