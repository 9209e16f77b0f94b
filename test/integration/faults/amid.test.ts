/** Redis loses its data while one replica cannot reach the cluster, one is stopped in a compare, and one starts. */
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import { expectSurvived, run, type SurvivingLab, startSurvivor, survivingChecks } from './surviving-labs.ts'
import { insist, Traffic } from './traffic.ts'
import * as wave from './wave.ts'

const [blind, well, also, starting] = [0, 1, 2, 3]
const survivorCount = 8
/** How long one replica cannot reach the cluster. */
const blindMs = 30_000
/** The longest request, after which a blind replica gives up its compare, and as long again for a busy machine. */
const givenUpMs = 20_000

/** Limit of an operation: Kubernetes may still be removing hundreds of namespaces of earlier attacks. */
const deadlineMs = 180_000

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)))

/**
 * The blind replica begins a compare first, and gets no lists. The next to compare is stopped once it has its lists.
 * Returns the index of the stopped replica.
 */
async function stopInCompare(trial: Trial, fleet: Fleet): Promise<number> {
  const begun = fleet.arm('compare.begun', 'note', { replica: `replica-${blind + 1}` })
  const listed = fleet.arm('compare.listed', 'stop')
  trial.injected(2)
  await Promise.all([well, also].map(index => fleet.kill(index, 'SIGSTOP')))
  await fleet.world.redis.flushall()
  await begun.landed()
  trial.landed()
  await Promise.all([well, also].map(index => fleet.kill(index, 'SIGCONT')))
  const { replica } = await listed.landed(1, givenUpMs)
  trial.landed()
  return fleet.indexOf(replica)
}

/** Sends requests to the two replicas that answer, and to the starting one as soon as it runs. */
function beginTraffic(trial: Trial, fleet: Fleet, urls: readonly string[], survivors: readonly SurvivingLab[]) {
  const traffic = new Traffic(urls, survivingChecks(fleet, trial, survivors))
  const late = fleet
    .start(starting)
    .then(() => new Traffic([fleet.url(starting)], survivingChecks(fleet, trial, survivors)))
  return [traffic, late]
}

async function endTraffic(trial: Trial, all: readonly Traffic[], lostAtMs: number): Promise<void> {
  await Promise.all(all.map(traffic => traffic.stop()))
  const requests = all.reduce((sum, { asked }) => sum + asked, 0)
  trial.figure('consistentMs', Math.round(Math.max(...all.map(({ lastPutOffMs }) => lastPutOffMs)) - lostAtMs))
  trial.figure('requests', requests)
  for (const words of all.flatMap(({ violations }) => violations)) trial.violation(words)
}

async function loseAmid(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ replicas: 4, proxies: 'open' })
  fleet.expects({ redisLoss: true, takeoverMs: blindMs })
  const survivors = await Promise.all(Array.from({ length: survivorCount }, () => startSurvivor(fleet)))
  const [doomed, newcomer] = [fleet.user(), fleet.user()]
  await run(doomed)
  await fleet.kill(starting)
  trial.injected()
  const blindAtMs = performance.now()
  fleet.proxies(blind).kubernetes.silence()

  const lostAtMs = performance.now()
  const stopped = await stopInCompare(trial, fleet)
  const answering = [blind, well + also - stopped].map(index => fleet.url(index))
  const begun = beginTraffic(trial, fleet, answering, survivors)
  const first = [
    insist(() => fleet.admin.at(answering[0]!).delete(doomed.username)),
    insist(() => newcomer.at(answering[0]!).create()),
    ...answering.map(url => insist(() => survivors[0]!.user.at(url).create())),
  ]
  const statuses = (await Promise.all(first)).map(({ status }) => status)
  if (String(statuses) !== '202,303,409,409') trial.violation(`the first requests were answered ${statuses}`)
  // The stopped replica was about to write lists that are now the oldest.
  await fleet.kill(stopped, 'SIGCONT')
  const all = await Promise.all(begun)
  trial.landed()
  await eventually(
    'an answer of the stopped replica',
    async () => (await fleet.admin.at(fleet.url(stopped)).labs()).status === 200,
  )
  await pause(blindAtMs + blindMs - performance.now())
  fleet.proxies(blind).kubernetes.resume()
  for (const user of [doomed, newcomer]) {
    if ((await user.follow({ limitMs: deadlineMs })).outcome !== 'complete')
      trial.violation(`P3 the operation of ${user.username} failed`)
  }
  await endTraffic(trial, all, lostAtMs)
  await expectSurvived(trial, fleet, survivors)
  await wave.expectNothingLeft(fleet, [...survivors.map(({ user }) => user), doomed, newcomer])
}

if (isWhole) attack('T7 FLUSHALL amid a blind, a stopped and a starting replica', loseAmid, { limitMs: 360_000 })
