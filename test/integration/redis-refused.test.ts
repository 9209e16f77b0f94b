/** An unusable Redis: a starting process exits with a reason; a running one reports why, and fails no operation. */
import { expect, type TestContext, test } from 'vitest'
import { startRedis } from '../../dev/redis/redis.ts'
import { eventually } from '../kit/cluster/world.ts'
import type { ErrorBody } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { FakeRedis } from './store/fake-redis.ts'

const noCluster = 'Redis is a Redis Cluster, which is not supported: it must be one server, with cluster-enabled no'

/** Starts a replica without a Redis, then leads it to this one. */
async function startAt(context: TestContext, url: string): Promise<Fleet> {
  const fleet = await startFleet(context, { replicas: 1, proxies: 'shut', ready: false })
  const { redis, kubernetes } = fleet.proxies(0)
  redis.turnTo(url)
  await Promise.all([redis.open(), kubernetes.open()])
  return fleet
}

async function startCluster(context: TestContext, fleet?: Fleet) {
  const { mkdtemp, rm } = await import('node:fs/promises')
  const stateDir = fleet?.stateDir ?? (await mkdtemp('/tmp/skylab-test-'))
  const cluster = await startRedis({ stateDir, cluster: true })
  context.onTestFinished(async () => {
    await cluster.stop()
    if (!fleet) await rm(stateDir, { recursive: true })
  })
  return cluster
}

async function waiting(fleet: Fleet): Promise<string[]> {
  const response = await fetch(`${fleet.monitoringUrl(0)}/readyz`).catch(() => null)
  const body = (await response?.json()) as Partial<ErrorBody> | undefined
  return body?.detail?.map(({ msg }) => msg) ?? []
}

test('a process exits with code 2 and a reason when its Redis is 6.2', async context => {
  const fake = await FakeRedis.start({ version: '6.2.14' })
  context.onTestFinished(() => fake.stop())
  const fleet = await startAt(context, fake.url)
  expect(await fleet.replica(0).ended).toBe(2)
  expect(await fleet.log(0)).toContain('Redis is 6.2.14: it must be 7.0 or newer')
})

test('a process exits with code 2 and a reason when its Redis is a cluster', async context => {
  const cluster = await startCluster(context)
  const fleet = await startAt(context, cluster.url)
  expect(await fleet.replica(0).ended).toBe(2)
  expect(await fleet.log(0)).toContain(noCluster)
})

test('a process waits and names the reason when its Redis is a replica', async context => {
  const fake = await FakeRedis.start({ role: 'slave' })
  context.onTestFinished(() => fake.stop())
  const fleet = await startAt(context, fake.url)
  const words = 'waiting for Redis: Redis is a replica of another one: it takes no writes'
  await eventually('the words', async () => (await waiting(fleet)).includes(words), 60_000)
})

test('a process waits, and names the commands, when its user of Redis lacks rights', async context => {
  const fleet = await startFleet(context, { replicas: 1, proxies: 'shut', ready: false })
  await fleet.world.redis.call('ACL', 'SETUSER', 'program', '-xadd', '-hset')
  const { redis, kubernetes } = fleet.proxies(0)
  await Promise.all([redis.open(), kubernetes.open()])
  const words = 'waiting for the right of its user of Redis to call HSET, XADD'
  await eventually('the words', async () => (await waiting(fleet)).includes(words), 60_000)
  await fleet.world.redis.call('ACL', 'SETUSER', 'program', '+xadd', '+hset')
  await fleet.ready()
})

test('a replica is unready and answers 503 with the reason when its Redis becomes a cluster', async context => {
  const fleet = await startFleet(context, { replicas: 1, proxies: 'open' })
  const cluster = await startCluster(context, fleet)
  const { redis } = fleet.proxies(0)
  redis.turnTo(cluster.url)
  await eventually('the words', async () => (await waiting(fleet)).includes(`waiting for Redis: ${noCluster}`))
  expect((await fleet.user().userStatus()).status).toBe(503)
  expect((await fleet.user().create()).status).toBe(503)
  expect(await fleet.log(0)).toContain('"Redis cannot be used"')
  redis.turnTo(fleet.redis.url)
  await fleet.ready()
})
