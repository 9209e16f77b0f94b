/** Two installations on one cluster. */
import { expect, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import type { Client } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'

async function spawn(user: Client): Promise<void> {
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

/** Empties the Redis of an installation, so that it finds its labs again. */
async function forget(fleet: Fleet): Promise<void> {
  await fleet.world.redis.flushall()
  await eventually('all is compared', async () => (await fleet.admin.labs()).status === 200)
}

const uidOf = async (fleet: Fleet, user: Client) => (await fleet.world.podOf(user.username))?.metadata.uid

test('two installations with prefixes of their own never see each other', async context => {
  const [a, b] = await Promise.all([startFleet(context, { replicas: 1 }), startFleet(context, { replicas: 1 })])
  const [ofA, ofB] = [a.user(), b.user()]
  expect(ofA.username).toBe(ofB.username)
  await Promise.all([spawn(ofA), spawn(ofB)])
  const before = await uidOf(a, ofA)
  await forget(b)
  expect((await b.admin.labs()).body).toEqual([ofB.username])
  expect((await b.admin.delete(ofB.username)).status).toBe(202)
  expect((await ofB.follow()).outcome).toBe('complete')
  expect((await b.admin.labs()).body).toEqual([])
  expect((await a.admin.labs()).body).toEqual([ofA.username])
  expect(await uidOf(a, ofA)).toBe(before)
})

test('two installations with one prefix refuse and keep each other’s namespaces', async context => {
  const a = await startFleet(context, { replicas: 1 })
  const b = await startFleet(context, { replicas: 1, namespacePrefix: a.namespacePrefix })
  const [ofA, ofB] = [a.user(), b.user()]
  expect(a.namespace(ofA.username)).toBe(b.namespace(ofB.username))
  await spawn(ofA)
  const created = ofA.follow()
  const before = await uidOf(a, ofA)
  expect((await b.admin.labs()).body).toEqual([])
  expect((await ofB.userStatus()).status).toBe(404)
  await ofB.create()
  const { outcome, errors } = await ofB.follow()
  expect(outcome).toBe('failed')
  expect(errors.at(-1)).toContain('was not made for u1 by this installation')
  await forget(b)
  expect((await b.admin.labs()).body).toEqual([])
  expect((await b.admin.delete(ofB.username)).status).toBe(404)
  await forget(a)
  expect((await a.admin.labs()).body).toEqual([ofA.username])
  expect(await uidOf(a, ofA)).toBe(before)
  // In all these attempts nothing was written in the lab of the first installation.
  const { op } = await created
  const writes = await a.audit.writesOf(a.namespace(ofA.username))
  expect(writes.filter(write => write.code < 300 && write.op !== op)).toEqual([])
})

test('two installations with one prefix neither judge, compare nor tidy up each other’s labs', async context => {
  const a = await startFleet(context, { replicas: 1 })
  const b = await startFleet(context, { replicas: 1, namespacePrefix: a.namespacePrefix })
  const [first, second] = [a.user(), a.user()]
  const [third, fourth] = [b.as('u3'), b.as('u4')]
  await Promise.all([first, second, third, fourth].map(spawn))
  const uids = () => Promise.all([uidOf(a, first), uidOf(b, third)])
  const before = await uids()
  // Only the owner judges a lab; the other installation has an object in its place that it would remove as debris of its own.
  await a.world.setPodStatus(second.username, { phase: 'Failed', reason: 'Evicted' })
  await b.world.setPodStatus(fourth.username, { phase: 'Succeeded' })
  await eventually('judged', async () => (await second.userStatus()).body.status === 'failed')
  await eventually('gone', async () => (await fourth.userStatus()).status === 404, 30_000)
  await Promise.all([forget(a), forget(b)])
  expect((await a.admin.labs()).body).toEqual([first.username])
  expect((await b.admin.labs()).body).toEqual([third.username])
  expect((await second.userStatus()).body.status).toBe('failed')
  expect(await uids()).toEqual(before)
  for (const [other, user] of [
    [b, first],
    [a, third],
  ] as const) {
    expect((await other.admin.status(user.username)).status).toBe(404)
    expect((await other.admin.delete(user.username)).status).toBe(404)
  }
  expect(await uids()).toEqual(before)
})
