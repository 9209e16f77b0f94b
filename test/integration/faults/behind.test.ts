/** Redis' clock is two days behind existing labs; or a stranger's label is far ahead of it. */
import { labels } from '../../../src/kube/labels.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { stepRedis } from './clock-steps.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

const days = 86_400
const compareIntervalSeconds = 1
const recoveryMs = 30_000

const readyz = async (url: string) => {
  const answer = await fetch(`${url}/readyz`)
  return { status: answer.status, text: await answer.text() }
}

const podUids = (fleet: Fleet, users: readonly Client[]) =>
  Promise.all(users.map(async user => (await fleet.world.podOf(user.username))?.metadata.uid as string | undefined))

async function step(trial: Trial, fleet: Fleet, offSeconds: number): Promise<void> {
  trial.injected()
  if (await stepRedis(fleet, offSeconds)) trial.landed()
}

async function run(user: Client): Promise<void> {
  await user.create()
  const { outcome } = await user.follow()
  if (outcome !== 'complete') throw new Error(`${user.username}: ${outcome}`)
}

/** Asks every replica for every lab. No answer may deny a lab; a replica that cannot tell answers 503. */
async function askAll(trial: Trial, fleet: Fleet, users: readonly Client[], mayBe503: boolean): Promise<void> {
  for (const url of fleet.urls) {
    for (const user of users) {
      const { status, body } = await user.at(url).userStatus()
      const isRight = status === 200 ? body.status === 'running' : mayBe503 && status === 503
      if (!isRight) trial.violation(`P7 ${user.username} was answered ${status} while its lab runs`)
    }
  }
}

async function untilUnready(trial: Trial, fleet: Fleet, users: readonly Client[], emptied: boolean): Promise<void> {
  await eventually(
    'all replicas are unready',
    async () => {
      await askAll(trial, fleet, users, emptied)
      const answers = await Promise.all(fleet.monitoringUrls.map(readyz))
      return answers.every(({ status, text }) => status === 503 && text.includes('waiting for the clock of Redis'))
    },
    recoveryMs,
  )
  const refused = [await fleet.user().create(), await fleet.admin.delete(users[0]!.username)]
  for (const { status } of refused) if (status !== 503) trial.violation(`an operation was answered ${status}`)
}

async function untilReady(trial: Trial, fleet: Fleet): Promise<void> {
  await step(trial, fleet, 0)
  const begunMs = performance.now()
  const isReady = async () =>
    (await Promise.all(fleet.monitoringUrls.map(readyz))).every(({ status }) => status === 200)
  await eventually('all replicas are ready', isReady, recoveryMs)
  trial.took(performance.now() - begunMs)
}

async function clockBehind(trial: Trial): Promise<void> {
  const config = { times: { compareIntervalSeconds } }
  const fleet = await trial.fleet({ redis: { wrongClock: true }, config })
  fleet.expects({ clocksStep: true, redisLoss: true })
  const users = Array.from({ length: 6 }, () => fleet.user())
  await Promise.all(users.map(run))
  const before = await podUids(fleet, users)
  const newcomers: Client[] = []
  for (const emptied of [false, true]) {
    await step(trial, fleet, -2 * days)
    if (emptied) await fleet.world.redis.flushall()
    await untilUnready(trial, fleet, users, emptied)
    await untilReady(trial, fleet)
    await askAll(trial, fleet, users, false)
    const after = await podUids(fleet, users)
    for (const [i, { username }] of users.entries()) {
      if (after[i] !== before[i]) trial.violation(`P7 ${username}: its pod is another one`)
    }
    const newcomer = fleet.user()
    await run(newcomer)
    newcomers.push(newcomer)
  }
  await wave.expectNothingLeft(fleet, [...users, ...newcomers])
  await fleet.world.emptied()
}

/** A stranger with the right to make a namespace and a pod writes the largest number as its op. */
async function poisonedLabel(trial: Trial): Promise<void> {
  const fleet = await trial.fleet({ config: { times: { compareIntervalSeconds } } })
  const { kube, redis, keys } = fleet.world
  await run(fleet.user())
  const name = `${fleet.name}-elsewhere`
  const marks = { [labels.installation]: fleet.installation, [labels.op]: String(Number.MAX_SAFE_INTEGER) }
  trial.injected()
  await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: marks } })
  try {
    const named = async () => (await fleet.log(0)) + (await fleet.log(1)) + (await fleet.log(2))
    const isKnown = async () => (await named()).includes(name) || Number(await redis.get(keys.last)) > Date.now() * 1000
    if (await eventually('a compare that saw the namespace', isKnown)) trial.landed()
    const users = [fleet.user(), fleet.user()]
    await Promise.all(users.map(run))
    const last = Number(await redis.get(keys.last))
    if (last > Date.now() * 1000) trial.violation(`I6 the counter is ${last}, which a stranger wrote`)
    for (const { username } of users) {
      const { status } = await fleet.admin.delete(username)
      if (status !== 202) trial.violation(`the deletion of ${username} was answered ${status}`)
    }
    for (const user of users) await eventually('the end of a lab', async () => (await user.userStatus()).status === 404)
  } finally {
    await kube.delete('Namespace', name)
  }
}

if (isWhole) {
  attack('T29 the clock of Redis two days behind the labs', clockBehind, { concurrent: true, limitMs: 300_000 })
  attack('T29 an op that a stranger wrote', poisonedLabel, { concurrent: true })
}
