/** Redis is restored from an older copy of its data: each row of "An older dump" in docs/redis.md happens. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

/** Restored operations are held until former owners have stopped. */
const limitMs = 60_000
const point = 'lab.create.make.service.before-act'

async function run(user: Client): Promise<void> {
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

async function remove(fleet: Fleet, user: Client): Promise<void> {
  expect((await fleet.admin.delete(user.username)).status).toBe(202)
  expect((await user.follow()).outcome).toBe('complete')
}

const podOf = async (fleet: Fleet, { username }: Client) => (await fleet.world.podOf(username))?.metadata.uid

/** Waits until the status is this one; `gone` is 404. */
async function becomes(user: Client, expected: string): Promise<void> {
  const isSo = async () => {
    const { status, body } = await user.userStatus()
    return (status === 404 ? 'gone' : body.status) === expected
  }
  await eventually(`${user.username} ${expected}`, isSo, limitMs)
}

/** An operation that its owner holds. */
async function hold(fleet: Fleet, user: Client, place: string) {
  const arm = fleet.arm(place, 'hold', { user: user.username })
  if (place === point) expect((await user.create()).status).toBe(303)
  else expect((await fleet.admin.delete(user.username)).status).toBe(202)
  await arm.landed()
  return arm
}

/** Replaces the data of Redis by an older copy. */
async function restore(fleet: Fleet, data: string, copy: string): Promise<void> {
  await fleet.redis.kill()
  rmSync(data, { recursive: true })
  cpSync(copy, data, { recursive: true })
  await fleet.redis.start()
}

// A container's files cannot be replaced from here.
test.skipIf(testBed().redisImage !== null)(
  'an older dump of Redis brings back what docs/redis.md says, and the cluster wins',
  async context => {
    const fleet = await startFleet(context, {
      ...{ replicas: 2, users: 10, redis: { aof: true } },
      config: { kubernetes: { requestTimeoutSeconds: 10 } },
    })
    fleet.expects({ redisLoss: true })
    const user = () => fleet.user()
    const [kept, deleted, exchanged, ended, leaving] = [user(), user(), user(), user(), user()]
    const [made, unwanted] = [user(), user()]
    await Promise.all([kept, deleted, exchanged, leaving].map(run))
    const creations = [await hold(fleet, ended, point), await hold(fleet, unwanted, point)]
    const deletion = await hold(fleet, leaving, 'lab.delete.pod.before-act')

    const data = join(fleet.stateDir, `redis-${fleet.redis.port}`)
    const copy = `${data}-copy`
    cpSync(data, copy, { recursive: true })
    for (const arm of [...creations, deletion]) arm.release()
    for (const each of [ended, unwanted, leaving]) expect((await each.follow()).outcome).toBe('complete')
    await Promise.all([run(made), remove(fleet, deleted), remove(fleet, exchanged), remove(fleet, unwanted)])
    await run(exchanged)
    const unaffected = [kept, made, exchanged, ended]
    const pods = await Promise.all(unaffected.map(each => podOf(fleet, each)))

    await restore(fleet, data, copy)
    for (const each of [kept, made, exchanged, ended]) await becomes(each, 'running')
    expect(await Promise.all(unaffected.map(each => podOf(fleet, each)))).toEqual(pods)
    await becomes(deleted, 'failed')
    expect((await deleted.userStatus()).body).toMatchObject({ pod: 'missing' })
    await becomes(leaving, 'gone')
    // No client waits for it any more.
    expect(['complete', 'failed']).toContain((await unwanted.follow({ limitMs })).outcome)
    // Their users can have another lab.
    await run(deleted)
    await fleet.admin.delete(unwanted.username)
    await becomes(unwanted, 'gone')
  },
  300_000,
)
