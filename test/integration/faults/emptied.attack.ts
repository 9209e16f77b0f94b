/** Redis is emptied, or restarted empty, during running labs and operations in progress. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect } from 'vitest'
import type { LabEvent } from '../../../src/base/domain.ts'
import { attack, type Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import type { Answer, Client, StatusAnswer } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { isWhole } from './points.ts'
import * as wave from './wave.ts'

/** Resolves when the data are lost. The result brings Redis back. */
type Lose = (fleet: Fleet) => Promise<() => Promise<unknown>>

const losses: readonly [string, Lose][] = [
  [
    'Redis emptied',
    async fleet => {
      await fleet.world.redis.flushall()
      return async () => {}
    },
  ],
  [
    'Redis restarted empty',
    async fleet => {
      await fleet.redis.kill()
      return () => fleet.redis.start()
    },
  ],
]
/** Open streams must end within this time. */
const endsWithinMs = 2000

/** Asks until the answer is no 503. Each 503 must have Retry-After. Returns how many there were. */
async function insist<B>(
  ask: () => Promise<Answer<B>>,
  onPutOff = () => {},
): Promise<Answer<B> & { readonly puts: number }> {
  for (let puts = 0; ; puts++) {
    const answer = await ask()
    if (answer.status !== 503) return { ...answer, puts }
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    onPutOff()
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function expectStatus(status: number, ask: () => Promise<Answer>, onPutOff?: () => void) {
  const answer = await insist(ask, onPutOff)
  expect(answer.status).toBe(status)
  return answer
}

async function run(user: Client): Promise<void> {
  const env = { PLAIN: user.username, API_TOKEN: 'hidden', JUPYTERHUB_SERVICE_PREFIX: `/nb/user/${user.username}/` }
  await user.create({ image_type: ['recommended'], size: ['medium'], enable_debug: 'true' }, { env })
  expect((await user.follow()).outcome).toBe('complete')
}

const withoutEvents = ({ events: _, ...rest }: StatusAnswer) => rest
const podUid = async (fleet: Fleet, user: Client) => (await fleet.world.podOf(user.username))?.metadata.uid

/** The first requests after the loss, to every replica: the list, a deletion, creations, and GETs of running labs. */
function askEverywhere(fleet: Fleet, { users, kept }: Labs, onPutOff: () => void) {
  return fleet.urls.flatMap((url, i) => {
    const admin = fleet.admin.at(url)
    const list = expectStatus(200, () => admin.labs(), onPutOff).then(answer => {
      expect(answer.body).toEqual(expect.arrayContaining(kept.map(({ username }) => username)))
      return answer
    })
    const doomed = expectStatus(202, () => admin.delete(users[i]!.username))
    const others = kept.flatMap(user => [
      expectStatus(409, () => user.at(url).create()),
      expectStatus(200, () => admin.status(user.username)),
    ])
    return [list, doomed, ...others]
  })
}

/** All users with a lab. The first few are deleted. */
interface Labs {
  readonly users: readonly Client[]
  readonly kept: readonly Client[]
}

/** No replica denies, restarts or forgets any of 20 labs, whatever the first request is. */
async function loseUnderLabs(trial: Trial, lose: Lose): Promise<void> {
  const fleet = await trial.fleet()
  fleet.expects({ redisLoss: true })
  const users = Array.from({ length: 20 }, () => fleet.user())
  await Promise.all(users.map(run))
  const before = await Promise.all(users.map(async user => (await user.userStatus()).body))
  const uids = await Promise.all(users.map(user => podUid(fleet, user)))
  const kept = users.slice(fleet.size)

  trial.injected()
  const comparing = fleet.arm('compare.begun', 'hold')
  const lostAtMs = performance.now()
  const bringBack = await lose(fleet)
  const asked = Promise.withResolvers<void>()
  const answers = askEverywhere(fleet, { users, kept }, asked.resolve)
  // No compare ends before a request got a 503: so the loss lands while requests go on.
  const answered = Promise.all<Answer & { puts: number }>(answers)
  await Promise.race([asked.promise, answered])
  await bringBack()
  await comparing.landed()
  comparing.release()
  const putOff = (await answered).reduce((sum, { puts }) => sum + puts, 0)
  if (putOff > 0) trial.landed()
  trial.took(performance.now() - lostAtMs)
  trial.figure('answers', answers.length)
  trial.figure('put_off', putOff)
  for (const [i, user] of users.entries()) {
    if (!kept.includes(user)) continue
    const { body } = await user.userStatus()
    expect(withoutEvents(body)).toEqual(withoutEvents(before[i]!))
    expect(body.events.map(({ event }) => event)).toEqual(['info', 'complete'])
    expect(await podUid(fleet, user)).toBe(uids[i])
    expect((await user.follow()).outcome).toBe('complete')
  }
  for (const user of users.slice(0, fleet.size)) expect((await user.follow()).outcome).toBe('complete')
  expect((await fleet.admin.labs()).body).toEqual(kept.map(({ username }) => username).sort())
  await wave.expectNothingLeft(fleet, users)
}

/** Half-made labs are removed. Half-removed ones are removed or stay. Clients see how their operations ended. */
async function loseInProgress(trial: Trial, lose: Lose): Promise<void> {
  const fleet = await trial.fleet({ users: 60 })
  fleet.expects({ redisLoss: true })
  const cases = await Promise.all(inProgress.map(each => begin(fleet, each)))
  trial.injected(cases.length)
  const lateness = monitorEventLoopDelay({ resolution: 10 })
  lateness.enable()
  const lostAtMs = performance.now()
  const back = (await lose(fleet))()
  // Every failpoint holds its operation.
  trial.landed(cases.length)
  const reported = await Promise.all(cases.map(each => expectReported(each, lostAtMs)))
  lateness.disable()
  const lateMs = Math.round(lateness.max / 1e6)
  trial.figure('reader_late_ms', lateMs)
  for (const { point, afterMs } of reported) {
    trial.took(afterMs)
    // Attacks share this process, which may itself read events late.
    expect([point, afterMs - lateMs < endsWithinMs]).toEqual([point, true])
  }
  await back
  // An owner that has not noticed yet may still carry out a lost operation, even the deletion of a rebuilt lab.
  // Removing a namespace takes longer than a lease lasts.
  for (const { user } of cases.filter(({ expected }) => expected === 'gone')) {
    await eventually('the end of a half-made lab', async () => (await user.userStatus()).status === 404, 60_000)
  }
  for (const { arm } of cases) arm.release()
  await eventually('the end of every stale owner', async () => {
    const lines = await Promise.all(fleet.urls.map((_, i) => wave.logged(fleet, i, 'operation is no longer ours')))
    const users = new Set(lines.flat().map(({ line }) => line.user))
    return cases.every(({ user }) => users.has(user.username))
  })
  for (const { point, user, expected } of cases) {
    const { status, body } = await user.userStatus()
    expect([point, status === 404 ? 'gone' : body.status]).toEqual([point, expected === 'gone' ? 'gone' : 'running'])
  }
  await wave.expectNothingLeft(
    fleet,
    cases.map(({ user }) => user),
  )
}

/** The open stream and the lab's status report the outcome. Returns how long the stream took. */
async function expectReported({ point, user, stream, expected }: Begun, lostAtMs: number) {
  const { events, afterMs } = await readToEnd(stream, lostAtMs)
  const last = events.at(-1)
  if (expected === 'whole') expect([point, last]).toMatchObject([point, { event: 'complete' }])
  else expect([point, last]).toEqual([point, { event: 'failed', data: 'The record of this operation was lost' }])
  const status = await insist(() => user.userStatus())
  const reported = status.status === 404 ? 'gone' : status.body.status
  expect([point, reported]).toEqual([point, expect.stringMatching(statuses[expected])])
  return { point, afterMs }
}

/** Outcome: the lab is removed; it stays and its operation is lost; it stays and its operation succeeds. */
type Expected = 'gone' | 'stays' | 'whole'
const statuses = { gone: /^(gone|terminating)$/, stays: /^running$/, whole: /^running$/ } as const

const inProgress: readonly { readonly point: string; readonly expected: Expected }[] = [
  { point: 'lab.create.make.namespace.before-act', expected: 'gone' },
  { point: 'lab.create.make.namespace.after-act', expected: 'gone' },
  { point: 'lab.create.make.content.after-commit', expected: 'gone' },
  { point: 'lab.create.make.pod.before-act', expected: 'gone' },
  { point: 'lab.create.finish.before-act', expected: 'whole' },
  { point: 'lab.delete.pod.before-act', expected: 'stays' },
  { point: 'lab.delete.pod.after-act', expected: 'gone' },
  { point: 'lab.delete.namespace.before-act', expected: 'gone' },
  { point: 'lab.delete.namespace.after-act', expected: 'gone' },
]

type Begun = Awaited<ReturnType<typeof begin>>

async function begin(fleet: Fleet, { point, expected }: (typeof inProgress)[number]) {
  const user = fleet.user()
  const isDeletion = point.startsWith('lab.delete')
  if (isDeletion) await run(user)
  const arm = fleet.arm(point, 'hold', { user: user.username })
  if (isDeletion) await fleet.admin.delete(user.username)
  else await user.create()
  await arm.landed()
  return { point, user, arm, expected, stream: await user.events() }
}

/** All events of a stream, and the time from `sinceMs` to the last one. */
async function readToEnd(stream: AsyncIterable<LabEvent>, sinceMs: number) {
  const events: LabEvent[] = []
  let afterMs = 0
  for await (const event of stream) {
    events.push(event)
    afterMs = performance.now() - sinceMs
  }
  return { events, afterMs }
}

for (const [name, lose] of isWhole ? losses : losses.slice(0, 1)) {
  attack(`T7 ${name} under 20 labs`, trial => loseUnderLabs(trial, lose), { concurrent: true })
  attack(`T7 ${name} under operations in progress`, trial => loseInProgress(trial, lose), { concurrent: true })
}
