/** Redis emptied, or restarted empty, under labs that run and operations in progress. */
import { describe, expect, test } from 'vitest'
import type { LabEvent } from '../../../src/domain.ts'
import type { Answer, Client, StatusAnswer } from '../harness/client.ts'
import { type Fleet, startFleet } from '../harness/fleet.ts'
import { eventually } from '../harness/world.ts'
import * as wave from './wave.ts'

/** Resolves when the data are gone; what it gives brings Redis back. */
type Lose = (fleet: Fleet) => Promise<() => Promise<unknown>>

const losses: readonly [string, Lose][] = [
  [
    'FLUSHALL',
    async fleet => {
      await fleet.world.redis.flushall()
      return async () => {}
    },
  ],
  [
    'restarted empty',
    async fleet => {
      await fleet.redis.kill()
      return () => fleet.redis.start()
    },
  ],
]
/** Within which open streams are told. */
const toldMs = 2000

/** Asks until the answer is no 503, each of which must say when to come again. Gives how many there were. */
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

async function run(user: Client): Promise<void> {
  const env = { PLAIN: user.username, API_TOKEN: 'hidden', JUPYTERHUB_SERVICE_PREFIX: `/nb/user/${user.username}/` }
  await user.create({ image_type: ['recommended'], size: ['medium'], enable_debug: 'true' }, { env })
  expect((await user.follow()).outcome).toBe('complete')
}

const withoutEvents = ({ events: _, ...rest }: StatusAnswer) => rest
const podUid = async (fleet: Fleet, user: Client) => (await fleet.world.podOf(user.username))?.metadata.uid

describe.concurrent.each(losses)('%s', (name, lose) => {
  test.concurrent('of 20 labs none is denied, restarted or forgotten, whoever asks first and for what', async context => {
    const fleet = await startFleet(context)
    const users = Array.from({ length: 20 }, () => fleet.user())
    await Promise.all(users.map(run))
    const before = await Promise.all(users.map(async user => (await user.userStatus()).body))
    const uids = await Promise.all(users.map(user => podUid(fleet, user)))
    const deleted = new Set(users.slice(0, 3))
    const kept = users.filter(user => !deleted.has(user))

    const lostAtMs = performance.now()
    const bringBack = await lose(fleet)
    const asked = Promise.withResolvers<void>()
    const answers = fleet.urls.flatMap((url, i) => {
      const admin = fleet.admin.at(url)
      const list = insist(() => admin.labs(), asked.resolve).then(answer => {
        expect(answer.status).toBe(200)
        expect(answer.body).toEqual(expect.arrayContaining(kept.map(({ username }) => username)))
        return answer
      })
      const doomed = insist(() => admin.delete(users[i]!.username)).then(answer => {
        expect(answer.status).toBe(202)
        return answer
      })
      const others = kept.flatMap(user => [
        insist(() => user.at(url).create()).then(answer => {
          expect(answer.status).toBe(409)
          return answer
        }),
        insist(() => admin.status(user.username)).then(answer => {
          expect(answer.status).toBe(200)
          return answer
        }),
      ])
      return [list, doomed, ...others]
    })
    // Somebody was put off by now: the blow has landed while they ask.
    const answered = Promise.all<Answer & { puts: number }>(answers)
    await Promise.race([asked.promise, answered])
    await bringBack()
    const all = await answered
    const putOff = all.reduce((sum, { puts }) => sum + puts, 0)
    wave.printResult(name, { answers: all.length, putOff, consistentMs: Math.round(performance.now() - lostAtMs) })
    expect(putOff).toBeGreaterThan(0)
    for (const [i, user] of users.entries()) {
      if (deleted.has(user)) continue
      const { body } = await user.userStatus()
      expect(withoutEvents(body)).toEqual(withoutEvents(before[i]!))
      expect(body.events.map(({ event }) => event)).toEqual(['info', 'complete'])
      expect(await podUid(fleet, user)).toBe(uids[i])
      expect((await user.follow()).outcome).toBe('complete')
    }
    for (const user of deleted) expect((await user.follow()).outcome).toBe('complete')
    expect((await fleet.admin.labs()).body).toEqual(kept.map(({ username }) => username).sort())
    await wave.expectNothingLeft(fleet, users)
  }, 120_000)

  test.concurrent('what was half made is removed, what was half removed goes on or stands again, and clients are told', async context => {
    const fleet = await startFleet(context, { users: 60 })
    const cases = await Promise.all(inProgress.map(each => begin(fleet, each)))
    const lostAtMs = performance.now()
    const back = (await lose(fleet))()
    await Promise.all(
      cases.map(async ({ point, user, stream, expected }) => {
        const { events, afterMs } = await readToEnd(stream, lostAtMs)
        const last = events.at(-1)
        if (expected === 'whole') expect([point, last]).toMatchObject([point, { event: 'complete' }])
        else expect([point, last]).toEqual([point, { event: 'failed', data: 'The record of this operation was lost' }])
        expect([point, afterMs < toldMs]).toEqual([point, true])
        const status = await insist(() => user.userStatus())
        const told = status.status === 404 ? 'gone' : status.body.status
        expect([point, told]).toEqual([point, expect.stringMatching(statuses[expected])])
      }),
    )
    await back
    wave.printResult(`${name}, in progress`, { points: cases.length })
    // An owner that does not know yet may still carry out what Redis has lost, a deletion of a lab that was rebuilt too.
    // A namespace takes longer to go than a lease lasts.
    for (const { user } of cases.filter(({ expected }) => expected === 'gone')) {
      await eventually('gone', async () => (await user.userStatus()).status === 404, 30_000)
    }
    for (const { arm } of cases) arm.release()
    await eventually('stale owners give up', async () => {
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
  }, 120_000)
})

/** What comes of it: the lab goes; it stands, and its operation is lost; it stands, and its operation has succeeded. */
type Expected = 'gone' | 'stands' | 'whole'
const statuses = { gone: /^(gone|terminating)$/, stands: /^running$/, whole: /^running$/ } as const

const inProgress: readonly { readonly point: string; readonly expected: Expected }[] = [
  { point: 'lab.create.make.namespace.before-act', expected: 'gone' },
  { point: 'lab.create.make.namespace.after-act', expected: 'gone' },
  { point: 'lab.create.make.secret.after-commit', expected: 'gone' },
  { point: 'lab.create.make.pod.before-act', expected: 'gone' },
  { point: 'lab.create.start.after-commit', expected: 'whole' },
  { point: 'lab.create.finish.before-act', expected: 'whole' },
  { point: 'lab.delete.pod.before-act', expected: 'stands' },
  { point: 'lab.delete.pod.after-act', expected: 'gone' },
  { point: 'lab.delete.namespace.before-act', expected: 'gone' },
  { point: 'lab.delete.namespace.after-act', expected: 'gone' },
]

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

/** All events of a stream, and how long after a moment the last one came. */
async function readToEnd(stream: AsyncIterable<LabEvent>, sinceMs: number) {
  const events: LabEvent[] = []
  let afterMs = 0
  for await (const event of stream) {
    events.push(event)
    afterMs = performance.now() - sinceMs
  }
  return { events, afterMs }
}
