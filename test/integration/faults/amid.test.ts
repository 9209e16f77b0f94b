/** Redis emptied while one replica sees nothing of the cluster, one is stopped as it compares, and one is just starting. */
import { attack, type Fight } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import { expectKept, type Kept, keep, ofKept, run } from './surviving-labs.ts'
import { insist, Traffic } from './traffic.ts'
import * as wave from './wave.ts'

const [blind, well, also, starting] = [0, 1, 2, 3]
const keptCount = 8
/** How long one replica sees nothing of the cluster. */
const blindMs = 30_000
/** The longest request, after which it lets others compare, and as long again for a busy machine. */
const givenUpMs = 20_000

/** Of a deletion, from its acceptance: Kubernetes may still be removing the hundreds of namespaces of attacks before. */
const deadlineMs = 180_000

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, Math.max(0, ms)))

/**
 * The blind one begins to compare before anyone else can, and gets no lists. Whoever compares after it is stopped when it
 * has them. Gives which one that was.
 */
async function stopInCompare(fight: Fight, fleet: Fleet): Promise<number> {
  const begun = fleet.arm('compare.begun', 'note', { replica: `replica-${blind + 1}` })
  const listed = fleet.arm('compare.listed', 'stop')
  fight.injected(2)
  await Promise.all([well, also].map(index => fleet.kill(index, 'SIGSTOP')))
  await fleet.world.redis.flushall()
  await begun.landed()
  fight.landed()
  await Promise.all([well, also].map(index => fleet.kill(index, 'SIGCONT')))
  const { replica } = await listed.landed(1, givenUpMs)
  fight.landed()
  return fleet.indexOf(replica)
}

/** All that answer are asked all the time, the one that is starting as soon as it does. */
function beginTraffic(fight: Fight, fleet: Fleet, urls: readonly string[], kept: readonly Kept[]) {
  const traffic = new Traffic(urls, ofKept(fleet, fight, kept))
  const late = fleet.start(starting).then(() => new Traffic([fleet.url(starting)], ofKept(fleet, fight, kept)))
  return [traffic, late]
}

async function endTraffic(fight: Fight, all: readonly Traffic[], lostAtMs: number): Promise<void> {
  await Promise.all(all.map(traffic => traffic.stop()))
  const requests = all.reduce((sum, { asked }) => sum + asked, 0)
  fight.figure('consistentMs', Math.round(Math.max(...all.map(({ lastPutOffMs }) => lastPutOffMs)) - lostAtMs))
  fight.figure('requests', requests)
  for (const words of all.flatMap(({ violations }) => violations)) fight.violation(words)
}

async function loseAmid(fight: Fight): Promise<void> {
  const fleet = await fight.fleet({ replicas: 4, proxies: 'open' })
  fleet.expects({ redisLoss: true, takeoverMs: blindMs })
  const kept = await Promise.all(Array.from({ length: keptCount }, () => keep(fleet)))
  const [doomed, newcomer] = [fleet.user(), fleet.user()]
  await run(doomed)
  await fleet.kill(starting)
  fight.injected()
  const blindAtMs = performance.now()
  fleet.ways(blind).kubernetes.silence()

  const lostAtMs = performance.now()
  const stopped = await stopInCompare(fight, fleet)
  const asked = [blind, well + also - stopped].map(index => fleet.url(index))
  const begun = beginTraffic(fight, fleet, asked, kept)
  const first = [
    insist(() => fleet.admin.at(asked[0]!).delete(doomed.username)),
    insist(() => newcomer.at(asked[0]!).create()),
    ...asked.map(url => insist(() => kept[0]!.user.at(url).create())),
  ]
  const statuses = (await Promise.all(first)).map(({ status }) => status)
  if (String(statuses) !== '202,303,409,409') fight.violation(`the first requests were answered ${statuses}`)
  // It was about to write what it had read before all others.
  await fleet.kill(stopped, 'SIGCONT')
  const all = await Promise.all(begun)
  fight.landed()
  await eventually(
    'an answer of the stopped one',
    async () => (await fleet.admin.at(fleet.url(stopped)).labs()).status === 200,
  )
  await pause(blindAtMs + blindMs - performance.now())
  fleet.ways(blind).kubernetes.resume()
  for (const user of [doomed, newcomer]) {
    if ((await user.follow({ limitMs: deadlineMs })).outcome !== 'complete')
      fight.violation(`P3 the operation of ${user.username} failed`)
  }
  await endTraffic(fight, all, lostAtMs)
  await expectKept(fight, fleet, kept)
  await wave.expectNothingLeft(fleet, [...kept.map(({ user }) => user), doomed, newcomer])
}

if (isWhole) attack('T7 FLUSHALL amid a blind, a stopped and a starting replica', loseAmid, { limitMs: 360_000 })
