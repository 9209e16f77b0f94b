/** The current program takes over each recorded past: once with its Redis, and once with the cluster only. */
import { describe, expect, type TestContext, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { annotations } from '../../src/kube/labels.ts'
import { judge } from '../kit/attack/judge.ts'
import { eventually } from '../kit/cluster/world.ts'
import { opOf } from '../kit/evidence/evidence.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { type Past, pasts, readPast } from '../kit/past/files.ts'
import { loadPast, type UidTable } from '../kit/past/load.ts'

/** A cluster takes 5 s to remove a namespace, and longer beside others. */
const goneLimitMs = 30_000

type Body = Readonly<Record<string, unknown>>

/** A user's record in the past. */
interface Found {
  readonly user: string
  readonly op: number
  readonly status: string
  readonly kind: string
  readonly active: boolean
  readonly hasPod: boolean
}

const prefixOf = ({ config }: Past) => `{${config.redis!.keyPrefix}}:`

function foundIn(past: Past): readonly Found[] {
  const prefix = `${prefixOf(past)}lab:`
  return Object.entries(past.redis).flatMap(([key, { type, value }]) => {
    if (!key.startsWith(prefix) || type !== 'hash') return []
    const { op, status = '', kind = '', active, pod } = value
    const user = key.slice(prefix.length)
    return [{ user, op: Number(op), status, kind, active: active === '1', hasPod: pod === '1' }]
  })
}

/** The recorded events of a user's operation. */
function eventsOf(past: Past, { user, op }: Found): readonly object[] {
  const stream = past.redis[`${prefixOf(past)}events:${user}`]
  if (stream?.type !== 'stream') return []
  return stream.value.filter(([id]) => opOf(id).op === op).map(([id, { event, data }]) => ({ id, event, data }))
}

/** The recorded answer. A lab that is found again starts a new stream. */
function answerOf(past: Past, { user }: Found, events: 'with events' | 'without'): Body {
  const { events: recorded, ...body } = past.about.users[user]!.answer!.body as Body
  return events === 'with events' ? { ...body, events: recorded } : body
}

/** Starts replicas of this commit on a past. */
async function takeOver(context: TestContext, past: Past, withoutRedis: boolean) {
  const { installation, lab } = past.config
  let table: UidTable = new Map()
  const fleet = await startFleet(context, {
    config: past.config,
    installation: installation!,
    namespacePrefix: lab!.namespacePrefix!,
    ready: false,
    failpoints: [{ point: 'compare.listed', effect: 'hold', times: null }],
    inherits: {
      users: past.tokens,
      sealingKey: past.sealingKey,
      load: async ({ url }) => {
        table = await loadPast(past, { redisUrl: url, withoutRedis })
      },
    },
  })
  // Other replicas accepted the operations of the past.
  fleet.expects({ otherClients: true, redisLoss: withoutRedis })
  const podNow = async ({ user }: Found) => (await fleet.world.podOf(user))?.metadata.uid
  const podThen = ({ user }: Found) => {
    const isTheirs = ({ kind, metadata }: KubeObject) =>
      kind === 'Pod' && metadata.annotations?.[annotations.user] === user
    return table.get(past.cluster.find(isTheirs)?.metadata.uid ?? '')
  }
  return { fleet, podNow, podThen }
}

/**
 * Requests running labs from every replica, during the compare and after it: each answers 503 until Redis' data are
 * compared, then 200. It never answers 404.
 */
async function neverMissing(fleet: Fleet, labs: readonly Found[]): Promise<void> {
  const answers: string[] = []
  const ask = (url: string, user: string, isEnough: (status: number | undefined) => boolean) =>
    eventually(`an answer about ${user}`, async () => {
      const answer = await fleet.admin
        .at(url)
        .status(user)
        .catch(() => null)
      if (answer) answers.push(`${user} ${answer.status} ${answer.body.status ?? ''}`)
      return isEnough(answer?.status)
    })
  const askAll = (isEnough: (status: number | undefined) => boolean) =>
    Promise.all(fleet.urls.flatMap(url => labs.map(({ user }) => ask(url, user, isEnough))))
  await askAll(status => status !== undefined)
  const due = labs.map(({ user }) => `${user} 503 `)
  expect(new Set(answers)).toEqual(new Set(due))
  fleet.failpoints.letGo()
  await Promise.all([fleet.ready(), askAll(status => status === 200)])
  expect(new Set(answers)).toEqual(new Set([...due, ...labs.map(({ user }) => `${user} 200 running`)]))
}

/** Makes a new lab and deletes all labs; `going` are removals in progress. Then nothing may be left. */
async function liveAndLeave(fleet: Fleet, past: Past, going: readonly Promise<unknown>[] = []): Promise<void> {
  const newcomer = fleet.as('newcomer')
  expect((await newcomer.create()).status).toBe(303)
  expect((await newcomer.follow()).outcome).toBe('complete')
  const users = past.tokens.map(({ username }) => username)
  const leave = async (user: string) => {
    if ((await fleet.admin.delete(user)).status === 202)
      expect((await fleet.as(user).follow()).outcome).toBe('complete')
  }
  await Promise.all([...users.map(leave), ...going])
  const left = await Promise.all(users.map(user => fleet.world.leftOf(user)))
  expect(left.flat()).toEqual([])
  expect((await judge(fleet)).violations).toEqual([])
}

describe.for(pasts())('the past %s', name => {
  const past = readPast(name)
  const found = foundIn(past)
  const creations = found.filter(({ active, kind }) => active && kind === 'create')
  const deletions = found.filter(({ active, kind }) => active && kind === 'delete')
  const running = found.filter(({ status }) => status === 'running')
  const failed = found.filter(({ status, active }) => status === 'failed' && !active)
  /** Labs with a pod. */
  const standing = [...running, ...failed.filter(({ hasPod }) => hasPod)]

  test('a past has a user in every state that a release can leave', () => {
    const waiting = past.redis[`${prefixOf(past)}waiting`]
    expect(creations.length).toBeGreaterThanOrEqual(4)
    expect(Object.keys(waiting?.value ?? {}).length).toBeGreaterThan(0)
    expect(deletions.length).toBeGreaterThan(0)
    expect(running.length).toBeGreaterThanOrEqual(2)
    expect(failed.map(({ hasPod }) => hasPod).sort()).toEqual([false, true])
  })

  test('a fleet finishes every operation and keeps every lab when it takes the past over', async context => {
    const { fleet, podNow, podThen } = await takeOver(context, past, false)
    const { admin } = fleet
    await neverMissing(fleet, running)
    for (const lab of [...running, ...failed]) {
      const { status, body } = await admin.status(lab.user)
      expect([status, body]).toEqual([200, expect.objectContaining(answerOf(past, lab, 'with events'))])
    }
    expect((await admin.labs()).body).toEqual(expect.arrayContaining(running.map(({ user }) => user)))
    // A request repeated with its key gets its former answer, and not 409.
    for (const [user, { request }] of Object.entries(past.about.users)) {
      const { options, env, key } = request
      if (key !== undefined) expect((await fleet.as(user).create(options, { env, key })).status, user).toBe(303)
    }
    /** Checks that the stream begins with the recorded events, and continues to the end. */
    const completes = async (operation: Found) => {
      const recorded = eventsOf(past, operation)
      const { op, outcome, events } = await fleet.as(operation.user).follow()
      expect([op, outcome], operation.user).toEqual([operation.op, 'complete'])
      expect(events.slice(0, recorded.length)).toEqual(recorded)
    }
    const leaving = deletions.map(async deletion => {
      await completes(deletion)
      expect((await admin.status(deletion.user)).status, deletion.user).toBe(404)
    })
    // Awaited below: an earlier rejection is handled here, and thrown there.
    void Promise.allSettled(leaving)
    await Promise.all(creations.map(completes))
    for (const { user } of creations) expect((await admin.status(user)).body.status, user).toBe('running')
    for (const lab of standing) expect([lab.user, await podNow(lab)]).toEqual([lab.user, podThen(lab)])
    await liveAndLeave(fleet, past, leaving)
  })

  test('a fleet finds every lab and removes what is half made when the past has lost its Redis', async context => {
    const { fleet, podNow, podThen } = await takeOver(context, past, true)
    const { admin } = fleet
    await neverMissing(fleet, running)
    for (const lab of standing) {
      const { status, body } = await admin.status(lab.user)
      expect([status, body]).toEqual([200, expect.objectContaining(answerOf(past, lab, 'without'))])
      expect([lab.user, await podNow(lab)]).toEqual([lab.user, podThen(lab)])
    }
    const halfMade = [...creations, ...deletions].filter(lab => podThen(lab) === undefined)
    expect(halfMade.length).toBeGreaterThan(1)
    const going = halfMade.map(async ({ user }) => {
      const { status, body } = await admin.status(user)
      expect([404, 'terminating'], user).toContain(status === 200 ? body.status : status)
      await eventually(`${user} is gone`, async () => (await admin.status(user)).status === 404, goneLimitMs)
      expect(await fleet.world.namespaceOf(user), user).toBeNull()
    })
    await liveAndLeave(fleet, past, going)
  })
})
