/** Redis emptied, or restarted empty, while clients ask every replica for everything all the time. */
import { isDeepStrictEqual } from 'node:util'
import type { LabEvent } from '../../../src/domain.ts'
import type { Arm } from '../harness/armoury.ts'
import { attack, type Fight } from '../harness/attack.ts'
import type { Answer, Client, StatusAnswer } from '../harness/client.ts'
import type { Fleet } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import { flushAll, type Lose, restartEmpty } from './losses.ts'
import { isWhole } from './points.ts'
import { insist, type Question, Traffic } from './traffic.ts'
import * as wave from './wave.ts'

const keptCount = 10
/** Where creations, none of which has a lab yet, and deletions are held when the data are lost. */
const creations = ['make.namespace.before-act', 'make.namespace.after-act', 'make.secret.after-commit']
  .concat('make.service.after-act', 'make.pod.before-act')
  .map(place => `lab.create.${place}`)
const deletions = ['pod.before-act', 'pod.after-act', 'pod-gone.after-commit', 'namespace.before-act']
  .concat('namespace.after-act')
  .map(place => `lab.delete.${place}`)
/** Owners that know nothing of the loss go on within this time, each at a moment of its own. */
const wakeWithinMs = 4000
/** Within which open streams are told. */
const toldMs = 2000

interface Kept {
  readonly user: Client
  readonly before: StatusAnswer
  readonly podUid: string
}

/** In the middle of an operation, with its events as they come. */
interface Held {
  readonly user: Client
  readonly arm: Arm
  readonly told: Promise<{ readonly last: LabEvent | undefined; readonly atMs: number }>
}

const withoutEvents = ({ events: _, ...rest }: StatusAnswer) => rest
const podUid = async (fleet: Fleet, { username }: Client) => (await fleet.world.podOf(username))?.metadata.uid

async function run(user: Client): Promise<void> {
  const env = { PLAIN: user.username, API_TOKEN: 'hidden', JUPYTERHUB_SERVICE_PREFIX: `/nb/user/${user.username}/` }
  await user.create({ image_type: ['recommended'], size: ['medium'], enable_debug: 'true' }, { env })
  await user.follow()
}

async function keep(fleet: Fleet): Promise<Kept> {
  const user = fleet.user()
  await run(user)
  return { user, before: (await user.userStatus()).body, podUid: await podUid(fleet, user) }
}

async function hold(fleet: Fleet, point: string): Promise<Held> {
  const user = fleet.user()
  const isDeletion = point.startsWith('lab.delete')
  if (isDeletion) await run(user)
  const arm = fleet.arm(point, 'hold', { user: user.username })
  await (isDeletion ? fleet.admin.delete(user.username) : user.create())
  await arm.landed()
  const stream = await user.events()
  const told = (async () => {
    let [last, atMs]: [LabEvent | undefined, number] = [undefined, 0]
    for await (const event of stream) [last, atMs] = [event, performance.now()]
    return { last, atMs }
  })()
  return { user, arm, told }
}

/** The same again and again: what of its answers is in order, at any moment. */
function questions(fleet: Fleet, { random }: Fight, kept: readonly Kept[], held: readonly Held[]): Question[] {
  const admin = (url: string) => fleet.admin.at(url)
  const names = kept.map(({ user }) => user.username)
  const isAsBefore = ({ status, body }: Answer<unknown>, { before }: Kept) =>
    status === 200 && isDeepStrictEqual(withoutEvents(body as StatusAnswer), withoutEvents(before))
  const some = () => kept[Math.floor(random() * kept.length)]!
  return [
    {
      what: 'GET labs',
      ask: url => admin(url).labs(),
      allows: ({ status, body }) => status === 200 && names.every(name => (body as string[]).includes(name)),
    },
    ...kept.map(each => ({
      what: `GET of ${each.user.username}, who is kept`,
      ask: (url: string) => admin(url).status(each.user.username),
      allows: (answer: Answer<unknown>) => isAsBefore(answer, each),
    })),
    ...held.map(({ user }) => ({
      what: `GET of ${user.username}, who is in the middle of something`,
      ask: (url: string) => admin(url).status(user.username),
      allows: ({ status }: Answer<unknown>) => status === 200 || status === 404,
    })),
    { what: 'create', ask: url => some().user.at(url).create(), allows: ({ status }) => status === 409 },
    {
      what: 'user-status',
      ask: url => some().user.at(url).userStatus(),
      allows: ({ status, body }) => status === 200 && (body as StatusAnswer).status === 'running',
    },
  ]
}

/** Somebody deletes a lab, and somebody new asks for one, through each replica. */
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

/** How those end that were in the middle of something. */
async function settle(fight: Fight, fleet: Fleet, held: readonly Held[], lostAtMs: number): Promise<void> {
  for (const [i, { user, arm, told }] of held.entries()) {
    const point = arm.marks()[0]!.point
    const { last, atMs } = await told
    if (last?.event !== 'failed') fight.violation(`${point}: its stream ended with ${JSON.stringify(last)}`)
    if (atMs - lostAtMs > toldMs) fight.violation(`${point}: its stream was told after ${atMs - lostAtMs} ms`)
    fight.took(atMs - lostAtMs)
    if (i < creations.length) await eventually(`${point}: gone`, () => isGone(fleet, user), 40_000)
  }
}

async function isGone(fleet: Fleet, user: Client): Promise<boolean> {
  const answers = await Promise.all(fleet.urls.map(url => user.at(url).userStatus()))
  return answers.every(({ status }) => status === 404) && (await fleet.world.namespaceOf(user.username)) === null
}

async function loseUnderTraffic(fight: Fight, lose: Lose): Promise<void> {
  const fleet = await fight.fleet({ users: 60 })
  fleet.expects({ redisLoss: true })
  const kept = await Promise.all(Array.from({ length: keptCount }, () => keep(fleet)))
  const doomed = fleet.urls.map(() => fleet.user())
  const newcomers = fleet.urls.map(() => fleet.user())
  await Promise.all(doomed.map(run))
  fight.injected(1 + creations.length + deletions.length)
  const held = await Promise.all([...creations, ...deletions].map(point => hold(fleet, point)))
  fight.landed(held.length)

  const traffic = new Traffic(fleet, questions(fleet, fight, kept, held))
  await eventually('traffic', async () => traffic.asked > 200)
  const before = { asked: traffic.asked, putOff: traffic.putOff }
  const lostAtMs = performance.now()
  const bringBack = await lose(fleet)
  const mixed = mixIn(fleet, doomed, newcomers)
  const woken = held.map(({ arm }) => setTimeout(() => arm.release(), fight.random() * wakeWithinMs))
  fight.context.onTestFinished(() => woken.forEach(clearTimeout))
  // Somebody was put off: the blow has landed while they ask.
  await eventually('somebody is put off', async () => traffic.putOff > before.putOff)
  fight.landed()
  await bringBack()
  for (const statuses of (await mixed) as number[][]) {
    if (!isDeepStrictEqual(statuses, [202, 303])) fight.violation(`DELETE and create were answered ${statuses}`)
  }
  await settle(fight, fleet, held, lostAtMs)
  for (const user of doomed) if ((await user.follow()).outcome !== 'complete') fight.violation('a deletion failed')
  for (const user of newcomers) if ((await user.follow()).outcome !== 'complete') fight.violation('a creation failed')
  fight.figure('consistentMs', Math.round(traffic.lastPutOffMs - lostAtMs))
  await traffic.stop()
  fight.figure('requests', traffic.asked)
  fight.figure(
    'requestsPerSecond',
    Math.round((traffic.asked - before.asked) / ((performance.now() - lostAtMs) / 1000)),
  )
  fight.figure('putOff', traffic.putOff)
  for (const words of traffic.violations) fight.violation(words)
  await expectKept(fight, fleet, kept)
  const users = [...kept.map(({ user }) => user), ...held.map(({ user }) => user), ...doomed, ...newcomers]
  await wave.expectNothingLeft(fleet, users)
}

async function expectKept(fight: Fight, fleet: Fleet, kept: readonly Kept[]): Promise<void> {
  for (const { user, podUid: uid } of kept) {
    if ((await podUid(fleet, user)) !== uid) fight.violation(`${user.username} has another pod`)
    const { outcome, events } = await user.follow()
    const told = events.map(({ event }) => event)
    if (!isDeepStrictEqual(told, ['info', 'complete'])) fight.violation(`${user.username}: ${outcome}, told ${told}`)
  }
}

attack('T7 FLUSHALL under traffic', fight => loseUnderTraffic(fight, flushAll))
if (isWhole) attack('T7 restarted empty under traffic', fight => loseUnderTraffic(fight, restartEmpty))
