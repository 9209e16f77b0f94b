/** The life of a process: its dependencies at the start, its messages meanwhile, and its secrets. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, type TestContext, test } from 'vitest'
import { eventually } from '../kit/cluster/world.ts'
import type { Client, ErrorBody } from '../kit/fleet/client.ts'
import { type Fleet, startFleet } from '../kit/fleet/fleet.ts'
import { dumpRedis } from '../kit/fleet/secrets.ts'
import type { Proxies } from '../kit/network/proxies.ts'

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** The answer of `/readyz`, whether or not it listens yet. */
async function readiness(fleet: Fleet): Promise<{ status: number; waiting: string }> {
  const response = await fetch(`${fleet.monitoringUrl(0)}/readyz`).catch(() => null)
  const body = (await response?.json()) as ErrorBody | undefined
  return { status: response?.status ?? 0, waiting: body?.detail?.map(({ msg }) => msg).join(', ') ?? '' }
}

const forTheCompare = 'waiting for the first compare of the records with the cluster'

/** `dependency` is the one that cannot be reached. */
async function expectWaiting(fleet: Fleet, dependency?: string): Promise<void> {
  const refused = `waiting for ${dependency}: nothing listens on this port (ECONNREFUSED 127.0.0.1:`
  const isExpected = (waiting: string) =>
    waiting.endsWith(forTheCompare) && waiting.startsWith(dependency === undefined ? forTheCompare : refused)
  // The process may not listen yet.
  await eventually('an answer', async () => isExpected((await readiness(fleet)).waiting), 60_000)
  expect((await readiness(fleet)).status).toBe(503)
  expect((await fetch(`${fleet.monitoringUrl(0)}/healthz`)).status).toBe(200)
}

async function expectPutOff(user: Client, fleet: Fleet): Promise<void> {
  const begunMs = performance.now()
  const answers = await Promise.all([
    user.create(),
    user.userStatus(),
    fleet.admin.labs(),
    fleet.admin.delete(user.username),
    user.request(`labs/${user.username}/events`),
  ])
  for (const { status, headers } of answers) {
    expect(status).toBe(503)
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expect(performance.now() - begunMs).toBeLessThan(4000)
}

async function spawn(user: Client): Promise<void> {
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
}

/** A fleet of one replica that cannot reach anything yet. */
async function startCutOff(context: TestContext): Promise<{ fleet: Fleet } & Proxies> {
  const fleet = await startFleet(context, { replicas: 1, proxies: 'shut', ready: false })
  return { fleet, ...fleet.proxies(0) }
}

test('a replica without Redis at the start waits, names it, and then becomes ready by itself', async context => {
  const { fleet, redis, kubernetes } = await startCutOff(context)
  await kubernetes.open()
  await expectWaiting(fleet, 'Redis')
  const user = fleet.user()
  await expectPutOff(user, fleet)
  await redis.open()
  await fleet.ready()
  await spawn(user)
})

test('a replica is ready after the first compare, and stays so when the data are lost', async context => {
  const { fleet, redis, kubernetes } = await startCutOff(context)
  const first = fleet.arm('compare.begun', 'hold')
  await Promise.all([redis.open(), kubernetes.open()])
  await first.landed()
  await expectWaiting(fleet)
  first.release()
  await fleet.ready()
  const second = fleet.arm('compare.begun', 'hold')
  await fleet.world.redis.flushall()
  await expectPutOff(fleet.user(), fleet)
  await second.landed()
  expect((await readiness(fleet)).status).toBe(200)
  second.release()
  await fleet.ready()
})

test('a replica without the API server waits at the start; later operations wait, and labs stay known', async context => {
  const { fleet, redis, kubernetes } = await startCutOff(context)
  await redis.open()
  await expectWaiting(fleet, 'the Kubernetes API')
  await kubernetes.open()
  await fleet.ready()
  const [first, second] = [fleet.user(), fleet.user()]
  await spawn(first)
  await kubernetes.shut()
  expect((await first.userStatus()).body.status).toBe('running')
  expect((await second.create()).status).toBe(303)
  const following = second.follow()
  expect((await second.userStatus()).body.status).toBe('pending')
  await kubernetes.open()
  expect((await following).outcome).toBe('complete')
})

test('a replica puts requests off when Redis is away, and works as before when it is back', async context => {
  const fleet = await startFleet(context, { replicas: 2, redis: { aof: true } })
  const [runs, starts] = [fleet.user(), fleet.user()]
  await spawn(runs)
  const before = await runs.userStatus()
  const arm = fleet.arm('lab.create.make.service.before-act', 'hold', { user: starts.username })
  await starts.create()
  await arm.landed()
  const following = starts.follow()
  await fleet.redis.kill()
  await expectPutOff(runs, fleet)
  arm.release()
  await fleet.redis.start()
  await eventually('the lab is known again', async () => (await runs.userStatus()).status === 200)
  expect((await runs.userStatus()).body).toEqual(before.body)
  expect((await following).outcome).toBe('complete')
  expect((await readiness(fleet)).status).toBe(200)
})

test('a replica refuses a Redis that may evict keys, with a reason for the operator', async context => {
  const { fleet, redis, kubernetes } = await startCutOff(context)
  await fleet.world.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const { ended } = fleet.replica(0)
  await Promise.all([redis.open(), kubernetes.open()])
  expect(await ended).toBe(2)
  expect(await fleet.log(0)).toContain('maxmemory-policy allkeys-lru: it must be noeviction')
})

test('a replica with an invalid configuration exits with code 2 and names the key', async context => {
  const folder = await mkdtemp(join(tmpdir(), 'skylab-test-'))
  context.onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'bad.yaml')
  await writeFile(file, 'engine: {leaseTtlMs: soon}\nlab: {colour: blue}\n')
  const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>(resolve => {
    execFile(process.execPath, [main, 'serve', '--config', file], (error, _, stderr) => {
      resolve({ code: error?.code, stderr })
    })
  })
  expect(code).toBe(2)
  expect(stderr).toContain('engine.leaseTtlMs')
  expect(stderr).toContain('lab.colour')
})

const promisedFamilies = [
  'skylab_operation_duration_seconds',
  'skylab_operations_accepted_total',
  'skylab_operations_resumed_total',
  'skylab_step_duration_seconds',
  'skylab_leases_total',
  'skylab_compare_duration_seconds',
  'skylab_event_streams_open',
  'skylab_kubernetes_request_duration_seconds',
  'skylab_redis_call_duration_seconds',
  'nodejs_eventloop_lag_seconds',
]

test('metrics cover every part and no user; no output has a secret', async context => {
  const person = { username: 'easily-found-again' }
  const fleet = await startFleet(context, { replicas: 1, people: { [person.username]: {} } })
  const user = fleet.as(person.username)
  const secret = 'the-secret-of-a-hub'
  const env = { JUPYTERHUB_API_TOKEN: secret, DATABASE: `postgres://me:${secret}@db/labs` }
  const key = 'idempotent'
  expect((await user.create({ image_type: 'recommended' }, { env, key })).status).toBe(303)
  const { events } = await user.follow()
  const metrics = await (await fetch(`${fleet.monitoringUrl(0)}/metrics`)).text()
  for (const family of promisedFamilies) expect(metrics).toMatch(new RegExp(`^# TYPE ${family} `, 'm'))
  expect(metrics).toMatch(
    /skylab_operation_duration_seconds_count\{kind="create",result="complete",subject_kind="lab"\} 1\b/,
  )
  expect(metrics).not.toContain(person.username)
  const objects = await fleet.world.objectsOf(person.username)
  const outputs = {
    metrics,
    log: await fleet.log(0),
    status: JSON.stringify((await user.userStatus()).body),
    events: JSON.stringify(events),
    namespace: JSON.stringify(await fleet.world.namespaceOf(person.username)),
    objects: JSON.stringify(objects.filter(({ kind }) => kind !== 'Secret')),
    redis: await dumpRedis(fleet),
  }
  for (const [where, text] of Object.entries(outputs)) {
    expect(text.length, where).toBeGreaterThan(0)
    for (const hidden of [secret, user.token]) expect(text.includes(hidden), `${hidden} in ${where}`).toBe(false)
  }
})

test('a plan is sealed while its operation is in progress', async context => {
  const fleet = await startFleet(context, { replicas: 1 })
  const user = fleet.user()
  const arm = fleet.arm('lab.create.make.secret.before-act', 'hold')
  await user.create(undefined, { env: { HUB_SECRET: 'not to be read' } })
  await arm.landed()
  const plan = await fleet.world.redis.hget(fleet.world.keys.record(user.username), 'plan')
  expect(plan?.length).toBeGreaterThan(1000)
  const kept = await dumpRedis(fleet)
  expect(kept).toContain(`lab creation initiated for ${user.username}`)
  expect(kept).not.toContain(user.token)
  expect(kept).not.toContain('not to be read')
  arm.release()
  expect((await user.follow()).outcome).toBe('complete')
  expect(await fleet.world.redis.hget(fleet.world.keys.record(user.username), 'plan')).toBeFalsy()
})

/** A replica that drains while it holds an operation; returns the stream of that operation. */
async function drainWhileHeld(context: TestContext, drainSeconds?: number) {
  const config = drainSeconds === undefined ? {} : { config: { times: { drainSeconds } } }
  const fleet = await startFleet(context, { replicas: 1, ...config })
  const user = fleet.user()
  const arm = fleet.arm('lab.create.make.pod.before-act', 'hold')
  await user.create()
  const stream = await user.events()
  await arm.landed()
  const { ended } = fleet.replica(0)
  fleet.replica(0).kill('SIGTERM')
  await eventually('unready', async () => (await readiness(fleet)).waiting.includes('draining'), 1000)
  return { arm, stream, ended }
}

test('a replica is unready at once on SIGTERM, ends streams cleanly and exits with 0', async context => {
  const { arm, stream, ended } = await drainWhileHeld(context)
  arm.release()
  for await (const _ of stream);
  expect(stream.broken()).toBe(false)
  expect(await ended).toBe(0)
})

test('a replica ends streams cleanly on SIGTERM when an operation cannot be handed over in time', async context => {
  const { stream, ended } = await drainWhileHeld(context, 6)
  for await (const _ of stream);
  expect(stream.broken()).toBe(false)
  expect(await ended).toBe(1)
})

test('a replica sends events as they come when it does not reach the cluster', async context => {
  const fleet = await startFleet(context, { replicas: 2, proxies: 'open' })
  await fleet.proxies(1).kubernetes.shut()
  await fleet.kill(1)
  await fleet.start(1, { ready: false })
  const user = fleet.user()
  const arm = fleet.arm('lab.create.make.pod.before-act', 'hold', { user: user.username })
  expect((await user.at(fleet.url(0)).create()).status).toBe(303)
  await arm.landed()
  const here = user.at(fleet.url(1))
  await eventually('Redis', async () => (await here.userStatus()).status === 200)
  const names: string[] = []
  for await (const { event } of await here.events()) {
    if (names.length === 0) arm.release()
    names.push(event)
  }
  expect(names.at(-1)).toBe('complete')
})
