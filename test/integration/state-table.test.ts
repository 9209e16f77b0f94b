/**
 * The state table: the effect of each event on a lab in each state. One test per cell; a cell in which nothing can happen
 * has none.
 */
import { describe, expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import type { Arm } from '../kit/failpoints/failpoint-arms.ts'
import { type Client, defaultOptions } from '../kit/fleet/client.ts'
import { type Fleet, startFleet, useFleet } from '../kit/fleet/fleet.ts'

const small = { limits: { cpu: 1, memory: '4Gi' } }
/** No node has room for the size `huge`: its pod stays as a test leaves it. */
const sizes = { small, medium: small, large: small, huge: { limits: { cpu: 100_000, memory: '1Gi' } } }
const huge = { ...defaultOptions, size: 'huge' }
const options = { replicas: 2, users: 40, config: { lab: { sizes }, engine: { room: 40 } } } as const

const states = ['none', 'pending', 'running', 'terminating', 'failed'] as const
type State = (typeof states)[number]

/** A user with a lab in a given state, and the object that holds it there. */
interface Case {
  readonly fleet: Fleet
  readonly user: Client
  readonly arm: Arm | undefined
}

async function complete(user: Client): Promise<void> {
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

const statusOf = async ({ user }: Pick<Case, 'user'>) => {
  const { status, body } = await user.userStatus()
  return status === 200 ? body.status : status
}

const become = (each: Case, what: State | 404) =>
  eventually(`${what}`, async () => (await statusOf(each)) === what, 30_000)

/** A lab during its creation: by default when its pod is made and not yet observed. */
async function pending(fleet: Fleet, user: Client, point = 'make.pod.after-commit'): Promise<Arm> {
  const arm = fleet.arm(`lab.create.${point}`, 'hold', { user: user.username })
  expect((await user.create(huge)).status).toBe(303)
  await arm.landed()
  return arm
}

/** A lab during its deletion: by default while its pod still exists. */
async function terminating(fleet: Fleet, user: Client, point = 'pod.before-act'): Promise<Arm> {
  await complete(user)
  const arm = fleet.arm(`lab.delete.${point}`, 'hold', { user: user.username })
  expect((await fleet.admin.delete(user.username)).status).toBe(202)
  await arm.landed()
  return arm
}

/** A lab whose pod its node has evicted; the pod remains. */
async function failed(fleet: Fleet, user: Client): Promise<undefined> {
  await complete(user)
  await fleet.world.setPodStatus(user.username, { phase: 'Failed', reason: 'Evicted' })
  await eventually('failed', async () => (await user.userStatus()).body.status === 'failed')
}

async function bring(fleet: Fleet, state: State): Promise<Case> {
  const user = fleet.user()
  const ways: Record<State, () => Promise<Arm | undefined>> = {
    none: async () => undefined,
    pending: () => pending(fleet, user),
    running: async () => void (await complete(user)),
    terminating: () => terminating(fleet, user),
    failed: () => failed(fleet, user),
  }
  const arm = await ways[state]()
  const each = { fleet, user, arm }
  expect(await statusOf(each)).toBe(state === 'none' ? 404 : state)
  return each
}

const create = ({ user }: Case) => user.create()
const remove = ({ fleet, user }: Case) => fleet.admin.delete(user.username)
const follow = async ({ user }: Case) => (await user.follow()).outcome
const podBecomes = ({ fleet, user }: Case, status: object) => fleet.world.setPodStatus(user.username, status)
const podGoes = ({ fleet, user }: Case) =>
  fleet.world.kube.delete('Pod', `nb-${user.username}`, fleet.namespace(user.username), 0)

const endedWell = { phase: 'Succeeded' }
const endedBadly = { phase: 'Failed', reason: 'Evicted' }

/** Checks that a second request changes nothing: the running operation ends by itself. */
async function goesOn(each: Case, end: 'running' | 404): Promise<void> {
  each.arm?.release()
  if (end === 'running') await podBecomes(each, await startedStatus(each))
  expect(await follow(each)).toBe('complete')
  expect(await statusOf(each)).toBe(end)
}

/** Status from a kubelet that has started the container. */
async function startedStatus({ fleet, user }: Case): Promise<object> {
  const { spec } = await fleet.world.podOf(user.username)
  const now = '2026-01-01T00:00:00Z'
  const container = { name: spec.containers[0].name, image: 'x', imageID: 'x', restartCount: 0, ready: true }
  return {
    phase: 'Running',
    containerStatuses: [{ ...container, started: true, state: { running: { startedAt: now } } }],
  }
}

const cells: Record<string, Partial<Record<State, (each: Case) => Promise<void>>>> = {
  create: {
    none: async each => {
      expect((await create(each)).status).toBe(303)
      expect(await statusOf(each)).toBe('pending')
      expect(await follow(each)).toBe('complete')
    },
    pending: async each => {
      expect((await create(each)).status).toBe(409)
      await goesOn(each, 'running')
    },
    running: async each => {
      const uid = (await each.fleet.world.podOf(each.user.username)).metadata.uid
      expect((await create(each)).status).toBe(409)
      expect(await statusOf(each)).toBe('running')
      expect((await each.fleet.world.podOf(each.user.username)).metadata.uid).toBe(uid)
    },
    terminating: async each => {
      expect((await create(each)).status).toBe(409)
      await goesOn(each, 404)
    },
    failed: async each => {
      const uid = (await each.fleet.world.namespaceOf(each.user.username)).metadata.uid
      expect((await create(each)).status).toBe(303)
      expect(await follow(each)).toBe('complete')
      expect((await each.fleet.world.namespaceOf(each.user.username)).metadata.uid).not.toBe(uid)
    },
  },
  delete: {
    none: async each => {
      expect((await remove(each)).status).toBe(404)
      expect(await statusOf(each)).toBe(404)
    },
    pending: async each => {
      const { ended } = await reading(each.user)
      expect((await remove(each)).status).toBe(202)
      expect(await statusOf(each)).toBe('terminating')
      each.arm?.release()
      const { outcome, events } = await ended
      expect([outcome, events.at(-1)!.data]).toEqual(['failed', expect.stringContaining('superseded')])
      expect(await follow(each)).toBe('complete')
      expect(await statusOf(each)).toBe(404)
    },
    running: async each => {
      expect((await remove(each)).status).toBe(202)
      expect(await statusOf(each)).toBe('terminating')
      expect(await follow(each)).toBe('complete')
      expect(await statusOf(each)).toBe(404)
    },
    terminating: async each => {
      expect((await remove(each)).status).toBe(202)
      await goesOn(each, 404)
      const ids = (await each.user.follow()).events.map(({ id }) => id!.split('-')[0])
      expect(new Set(ids).size).toBe(1)
    },
    failed: async each => {
      expect((await remove(each)).status).toBe(202)
      expect(await follow(each)).toBe('complete')
      expect(await statusOf(each)).toBe(404)
    },
  },
  'pod ended well': {
    // It never came up: the lab ended before it ran.
    pending: async each => {
      await podBecomes(each, endedWell)
      each.arm?.release()
      expect(await follow(each)).toBe('failed')
      expect(await statusOf(each)).toBe('failed')
    },
    running: async each => {
      await podBecomes(each, endedWell)
      await become(each, 'terminating')
      expect(await follow(each)).toBe('complete')
      expect(await statusOf(each)).toBe(404)
    },
    terminating: async each => {
      await podBecomes(each, endedWell)
      await goesOn(each, 404)
    },
  },
  'pod failed': {
    pending: async each => {
      await podBecomes(each, endedBadly)
      each.arm?.release()
      expect(await follow(each)).toBe('failed')
      expect(await statusOf(each)).toBe('failed')
    },
    running: async each => {
      await podBecomes(each, endedBadly)
      await become(each, 'failed')
    },
    terminating: async each => {
      await podBecomes(each, endedBadly)
      await goesOn(each, 404)
    },
  },
  'pod gone': {
    pending: async each => {
      await podGoes(each)
      each.arm?.release()
      expect(await follow(each)).toBe('failed')
      expect(await statusOf(each)).toBe('failed')
    },
    running: async each => {
      await podGoes(each)
      await become(each, 'failed')
      expect((await each.user.userStatus()).body.pod).toBe('missing')
    },
    terminating: async each => {
      await podGoes(each)
      await goesOn(each, 404)
    },
    failed: async each => {
      await podGoes(each)
      expect(await statusOf(each)).toBe('failed')
      expect((await remove(each)).status).toBe(202)
      expect(await follow(each)).toBe('complete')
    },
  },
}

describe('the state table', () => {
  const fleet = useFleet(options)
  const all = Object.entries(cells).flatMap(([column, of]) =>
    Object.entries(of).map(([state, meet]) => ({ column, state: state as State, meet: meet! })),
  )

  test.concurrent.each(all)('a lab that is $state, then: $column', async ({ state, meet }) =>
    meet(await bring(fleet(), state)),
  )
})

/** A client that has started to read. */
async function reading(user: Client) {
  const begun = Promise.withResolvers<void>()
  const ended = user.follow({ onEvent: () => begun.resolve() })
  await Promise.race([begun.promise, ended])
  return { ended }
}

/** Empties Redis; returns what a compare with the cluster must restore. */
async function loseRedis(fleet: Fleet): Promise<void> {
  await fleet.world.redis.flushall()
  await eventually('all is compared', async () => (await fleet.admin.labs()).status === 200)
}

const lost = 'The record of this operation was lost'

test('the state table holds when Redis is emptied', async context => {
  const fleet = await startFleet(context, options)
  const made = async (arm: Promise<Arm | undefined>, user: Client): Promise<Case> => ({ fleet, user, arm: await arm })
  const users = Array.from({ length: 4 }, () => fleet.user())
  const [none, running] = await Promise.all([bring(fleet, 'none'), bring(fleet, 'running')])
  const [halfMade, untouched, halfGone, kept] = await Promise.all([
    made(pending(fleet, users[0]!, 'make.service.before-act'), users[0]!),
    // The cluster does not show this deletion yet.
    made(terminating(fleet, users[1]!), users[1]!),
    made(terminating(fleet, users[2]!, 'pod.after-commit'), users[2]!),
    made(failed(fleet, users[3]!), users[3]!),
  ])
  const streams = await Promise.all([halfMade, untouched, halfGone].map(({ user }) => reading(user)))
  const uid = (await fleet.world.podOf(running.user.username)).metadata.uid

  await loseRedis(fleet)
  const shown = await Promise.all([none, running, halfMade, untouched, halfGone, kept].map(statusOf))
  expect(shown).toEqual([404, 'running', 'terminating', 'running', 'terminating', 'failed'])
  expect((await fleet.world.podOf(running.user.username)).metadata.uid).toBe(uid)
  const ends = await Promise.all(streams.map(({ ended }) => ended))
  expect(ends.map(({ events }) => events.at(-1)!.data)).toEqual([lost, lost, lost])
  for (const { arm } of [halfMade, untouched, halfGone]) arm?.release()
  await Promise.all([halfMade, halfGone].map(each => become(each, 404)))
}, 240_000)
