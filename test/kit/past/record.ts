/** Records a past: brings a fleet of this commit into every state that a release can leave, and stops it. */
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { StaticTokens } from '../../../src/identity/tokens.ts'
import { eventually } from '../cluster/world.ts'
import { type Client, defaultOptions } from '../fleet/client.ts'
import { Fleet } from '../fleet/fleet.ts'
import type { Overrides } from '../fleet/users.ts'
import { testBed } from '../testbed.ts'
import { type Past, type RecordedUser, textsOf } from './files.ts'
import { snapshotCluster, snapshotRedis } from './snapshot.ts'
import { timesOfToday, unknownTimes } from './times.ts'

/** An operator's choices. TTL and request time-out are short: a fleet reserves recorded operations for their sum. */
const config: ConfigInput = {
  engine: { leaseTtlMs: 3000, scanIntervalMs: 300 },
  kubernetes: { requestTimeoutSeconds: 3 },
  images: { registry: '127.0.0.1:9', docker: { repository: 'labs/jupyterlab' }, prepull: { enabled: false } },
  lab: {
    env: { TZ: 'UTC', ARCHIVE_TOKEN: 'known-to-every-lab' },
    volumes: [
      { name: 'motd', files: { motd: 'Welcome.\n' } },
      { name: 'cache', emptyDir: { medium: 'memory', sizeLimit: '64Mi' } },
    ],
    mounts: [
      { volume: 'motd', path: '/volumes/motd' },
      { volume: 'cache', path: '/volumes/cache' },
    ],
    annotations: { 'example.org/site': 'observatory' },
  },
}

const secretive: RecordedUser['request'] = {
  options: { image_type: 'recommended', size: 'medium', enable_debug: true },
  env: {
    PLAIN: 'anyone may read this',
    GITHUB_TOKEN: 'secret-by-token',
    APP_SECRET: 'secret-by-secret',
    DB_PASSWORD: 'secret-by-password',
    SIGNING_KEY: 'secret-by-key',
    DATABASE_URL: 'postgres://ada:secret-by-address@db.example.org/science',
    JUPYTERHUB_SERVICE_PREFIX: '/nb/user/Ada.Lovelace/',
  },
}
const plain: RecordedUser['request'] = { options: defaultOptions, env: {} }

/** Users are named after their final state. One name is no DNS label. */
const requests: Readonly<Record<string, RecordedUser['request']>> = {
  running: plain,
  'Ada.Lovelace': { ...secretive, key: 'asked-once' },
  leaving: plain,
  failed: plain,
  gone: plain,
  'before-namespace': { ...plain, key: 'asked-twice' },
  'amid-objects': secretive,
  starting: plain,
  'never-made': plain,
  waiting: plain,
}

/** The newcomer never had a lab. */
const people: Readonly<Record<string, Overrides>> = {
  ...Object.fromEntries(Object.keys(requests).map(name => [name, {}])),
  'Ada.Lovelace': { quota: { cpu: 8, memory: 32 } },
  newcomer: {},
}

/** @param name of the release; names of the installation and its namespaces contain it */
export async function recordPast(name: string): Promise<Past> {
  const installation = `past-${name}`
  const options = { replicas: 2, users: 0, people, config, installation, namespacePrefix: installation }
  const fleet = await Fleet.start(options)
  try {
    await endedOperations(fleet)
    await operationsInProgress(fleet)
    const answers = await answersOf(fleet)
    const { atMs, entries } = await stopAll(fleet)
    const past: Past = {
      about: { name, recordedAtMs: atMs, times: timesOfToday, users: usersOf(answers) },
      redis: entries,
      cluster: await snapshotCluster(fleet.world.kube, installation),
      ...(await filesOf(fleet)),
    }
    assertPortable(past)
    return past
  } finally {
    await fleet.stop()
  }
}

function create(fleet: Fleet, user: string): Promise<Client> {
  const { options, env, key } = requests[user]!
  const client = fleet.as(user)
  return client.create(options, { env, ...(key !== undefined && { key }) }).then(({ status }) => {
    if (status !== 303) throw new Error(`the creation of ${user} was answered ${status}`)
    return client
  })
}

async function follow(client: Client, wanted: string): Promise<void> {
  const { outcome } = await client.follow()
  if (outcome !== wanted) throw new Error(`the operation of ${client.username} ended ${outcome}`)
}

/** Two running labs, one that failed while running, one failed creation, and one deleted lab. */
async function endedOperations(fleet: Fleet): Promise<void> {
  const up = async (user: string) => follow(await create(fleet, user), 'complete')
  await Promise.all(['running', 'Ada.Lovelace', 'leaving', 'failed', 'gone'].map(up))
  const why = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory' }
  await fleet.world.setPodStatus('failed', why)
  await eventually('the failure', async () => (await fleet.admin.status('failed')).body.status === 'failed')
  await fleet.admin.delete('gone')
  await follow(fleet.as('gone'), 'complete')
}

/** Creations at three steps, and a deletion in progress. Failpoints hold the acts; no node takes the last pods. */
async function operationsInProgress(fleet: Fleet): Promise<void> {
  const held = (point: string, user: string) => fleet.arm(point, 'hold', { user })
  const deletion = held('lab.delete.namespace.before-act', 'leaving')
  const early = held('lab.create.make.namespace.before-act', 'before-namespace')
  const midway = held('lab.create.make.networkpolicy.before-act', 'amid-objects')
  await fleet.admin.delete('leaving')
  await create(fleet, 'before-namespace')
  await create(fleet, 'amid-objects')
  await Promise.all([deletion, early, midway].map(arm => arm.landed()))
  await cordonAll(fleet)
  await Promise.all(['starting', 'never-made'].map(user => create(fleet, user)))
  await Promise.all(['starting', 'never-made'].map(user => awaitsStart(fleet, user)))
  await fleet.world.setPodStatus('never-made', { phase: 'Failed', reason: 'Preempted', message: 'A guest came' })
  await follow(fleet.as('never-made'), 'failed')
}

async function cordonAll({ world: { kube } }: Fleet): Promise<void> {
  const nodes = await kube.list('/api/v1/nodes', 'type=kwok')
  const spec = { unschedulable: true }
  await Promise.all(nodes.map(({ metadata }) => kube.patch('Node', metadata.name, undefined, { spec })))
}

/** Waits until the step of waiting is recorded, and the scheduler has said that there is no node. */
async function awaitsStart({ world }: Fleet, user: string): Promise<void> {
  await eventually(`${user} awaits its start`, async () => {
    const step = await world.redis.hget(world.keys.record(user), 'step')
    const { conditions = [] } = (await world.podOf(user))?.status ?? {}
    return step === 'start' && conditions.some(({ type }: { type: string }) => type === 'PodScheduled')
  })
}

/** The answers for all users but `waiting`. */
async function answersOf(fleet: Fleet): Promise<Readonly<Record<string, RecordedUser['answer']>>> {
  const users = Object.keys(requests).filter(user => user !== 'waiting')
  const answers = await Promise.all(
    users.map(async user => {
      const { status, body } = await fleet.admin.status(user)
      return [user, { status, body }] as const
    }),
  )
  return Object.fromEntries(answers)
}

const usersOf = (answers: Awaited<ReturnType<typeof answersOf>>): Past['about']['users'] =>
  Object.fromEntries(
    Object.entries(requests).map(([user, request]) => [user, { request, answer: answers[user] ?? null }]),
  )

/** Stops the last replica once it has accepted one more creation, so that no replica claims that creation. */
async function stopAll(fleet: Fleet): Promise<Awaited<ReturnType<typeof snapshotRedis>>> {
  const [last, other] = [0, 1]
  const accepted = fleet.arm('lab.create.accepted', 'stop', { user: 'waiting', replica: 'replica-1' })
  await fleet.kill(other, 'SIGSTOP')
  const { options, env } = requests.waiting!
  fleet
    .as('waiting')
    .at(fleet.url(last))
    .create(options, { env })
    .catch(() => {})
  await accepted.landed()
  const snapshot = await snapshotRedis(fleet.world.redis)
  await Promise.all([fleet.kill(last), fleet.kill(other)])
  return snapshot
}

/** The replicas' files, without the addresses and the log level that a fleet adds. */
async function filesOf({ stateDir }: Fleet): Promise<Pick<Past, 'config' | 'tokens' | 'sealingKey'>> {
  const text = (file: string) => readFile(join(stateDir, file), 'utf8')
  const { api: _, logLevel: __, ...config } = parse(await text('replica-1.yaml'), { version: '1.1' }) as ConfigInput
  const { url: ___, ...redis } = config.redis ?? {}
  const { kubeconfig: ____, ...kubernetes } = config.kubernetes ?? {}
  const { tokens } = parse(await text('tokens.yaml'), { version: '1.1' }) as StaticTokens
  return { config: { ...config, redis, kubernetes }, tokens, sealingKey: await text('sealing.key') }
}

/** @throws if a time is in no table, or a file names this machine */
function assertPortable(past: Past): void {
  const { redis, about } = past
  const unknown = unknownTimes(redis, about.times, about.recordedAtMs)
  if (unknown.length > 0) throw new Error(`times in fields that no table names: ${unknown.join(', ')}`)
  const checkout = fileURLToPath(new URL('../../..', import.meta.url))
  const own = [hostname(), checkout, testBed().stateDir, testBed().images.registry ?? '']
  const foreign = own.filter(word => word.length > 3 && word !== config.images?.registry)
  for (const [file, text] of Object.entries(textsOf(past))) {
    const found = foreign.filter(word => text.includes(word))
    if (found.length > 0) throw new Error(`${file} names this machine: ${found.join(', ')}`)
  }
}
