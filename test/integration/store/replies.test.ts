/** Error replies of Redis: some are repeated, some need an operator, and none of them fails an operation. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { RetryLater } from '../../../src/base/errors.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { Leases } from '../../../src/leases/leases.ts'
import { Bell } from '../../../src/store/bell.ts'
import { Connection } from '../../../src/store/connection.ts'
import type { Ring } from '../../../src/store/rings.ts'
import { TaskStore } from '../../../src/store/tasks.ts'
import { opened } from '../../kit/store/opened.ts'
import { bulk, error, FakeRedis, number } from './fake-redis.ts'

const elsewhere = [
  "READONLY You can't write against a read only replica.",
  "READONLY You can't write against a read only replica. script: 0a1b2c, on @user_script:12.",
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'LOADING Redis is loading the dataset in memory',
]
const passes = [
  'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  'UNKILLABLE The busy script was sent by a master instance',
  'NOREPLICAS Not enough good replicas to write.',
]
/** Each with the message that clients see. */
const someone = [
  ["OOM command not allowed when used memory > 'maxmemory'.", 'its memory is full'],
  [
    'MISCONF Redis is configured to save RDB snapshots, but it is currently unable to persist to disk.',
    'it cannot save its data',
  ],
  ['NOAUTH Authentication required.', 'a password is required, and none is configured'],
  ["NOPERM this user has no permissions to run the 'evalsha' command", 'its user lacks a right'],
  [
    "ERR The user executing the script can't run this command or subcommand script: 0a1b2c, on @user_script:12.",
    'its user lacks a right',
  ],
] as const
const cluster = [
  'MOVED 3999 127.0.0.1:6381',
  'ASK 3999 127.0.0.1:6381',
  "CROSSSLOT Keys in request don't hash to the same slot",
  'CLUSTERDOWN Hash slot not served',
  'TRYAGAIN Multiple keys request during rehashing of slot',
]
const noCluster = 'Redis is a Redis Cluster, which is not supported: it must be one server, with cluster-enabled no'

interface Place {
  readonly fake: FakeRedis
  readonly connection: Connection
  readonly troubles: string[]
}

/** A connection to a server that answers each script with `next`, or as usual when that is undefined. */
async function connect(next: () => string | undefined): Promise<Place> {
  const troubles: string[] = []
  const isScript = (name: string | undefined) => /^eval/i.test(name ?? '')
  const fake = await FakeRedis.start({}, ([name]) => (isScript(name) ? next() : undefined))
  const config = configSchema.shape.redis.parse({ url: fake.url })
  const log = { warn: (fields: object) => troubles.push((fields as { reason: string }).reason), info: () => {} }
  const connection = new Connection({ config, clock: systemClock, log })
  onTestFinished(async () => {
    connection.close()
    await fake.stop()
  })
  await opened(connection)
  return { fake, connection, troubles }
}

const scripts = ({ heard }: FakeRedis) => heard.filter(name => name.startsWith('eval')).length
const once = (reply: string) => {
  const replies = [error(reply)]
  return () => replies.shift()
}
const run = ({ connection }: Place) => connection.run('renew-lease', ['lease'], ['token', 1])

test.each(elsewhere)('the command is sent again over a new connection after %s', async reply => {
  const place = await connect(once(reply))
  expect(await run(place)).toBe(1)
  expect(scripts(place.fake)).toBe(2)
  expect(place.fake.heard.filter(name => name === 'info')).toHaveLength(3)
  expect(place.troubles).toEqual([])
})

test.each(elsewhere)('the command is put off when its server twice answers %s', async reply => {
  const place = await connect(() => error(reply))
  await expect(run(place)).rejects.toThrow(RetryLater)
  expect(scripts(place.fake)).toBe(2)
})

test.each(passes)('the command is sent again over the same connection after %s', async reply => {
  const place = await connect(once(reply))
  expect(await run(place)).toBe(1)
  expect(place.fake.heard.filter(name => name === 'info')).toHaveLength(2)
})

test.each(someone)('the command is put off, and the reply is logged once, after %s', async (reply, words) => {
  const place = await connect(() => error(reply))
  for (let i = 0; i < 3; i++) {
    await expect(run(place)).rejects.toThrow(new RetryLater(`Redis does not answer: ${words}`))
  }
  expect(scripts(place.fake)).toBe(3)
  expect(place.troubles).toEqual([`${words} (${reply.replace(/\.$/, '')})`])
  expect(place.connection.trouble()).toBeUndefined()
})

test.each(cluster)('the connection says that a cluster is not supported after %s', async reply => {
  const place = await connect(() => error(reply))
  for (let i = 0; i < 3; i++) await expect(run(place)).rejects.toThrow(`Redis does not answer: ${noCluster}`)
  expect(place.troubles).toEqual([noCluster])
  expect(place.connection.trouble()).toEqual({ words: noCluster, detail: '', final: true })
})

test('the connection throws a reply that only a defect explains', async () => {
  const place = await connect(once('WRONGTYPE Operation against a key holding the wrong kind of value'))
  await expect(run(place)).rejects.not.toBeInstanceOf(RetryLater)
})

test('the connection reads a code to its end: BUSYGROUP is not BUSY', async () => {
  const place = await connect(once('BUSYGROUP Consumer Group name already exists'))
  await expect(run(place)).rejects.not.toBeInstanceOf(RetryLater)
})

const leasesOn = (place: Place) =>
  new Leases({
    redis: place.connection.commands,
    owners: { extend: async () => [], giveBack: async () => {} },
    tasks: new TaskStore(place.connection),
    keyOf: user => user,
    clock: systemClock,
    ttlMs: 3000,
  })

test.each([elsewhere[0]!, elsewhere[2]!, someone[0][0], cluster[0]!])(
  'a lease is put off, and not taken for another’s, after %s',
  async reply => {
    const place = await connect(() => error(reply))
    await expect(leasesOn(place).acquire('ada')).rejects.toThrow(RetryLater)
  },
)

test('a lease belongs to another replica when its key exists', async () => {
  expect(await leasesOn(await connect(() => number(0))).acquire('ada')).toBeNull()
})

test('the bell listens over a new connection when it is unblocked', async () => {
  const place = await connect(() => undefined)
  const replies = [error(elsewhere[2]!)]
  const entry = `*1\r\n*2\r\n${bulk('bell')}*1\r\n*2\r\n${bulk('1-1')}*8\r\n${['epoch', '7', 'user', 'ada', 'op', '5', 'what', 'ended'].map(bulk).join('')}`
  let unblocked = false
  place.fake.answer = ([name]) => {
    if (name?.toLowerCase() !== 'xread') return undefined
    const reply = replies.shift() ?? (unblocked ? '' : entry)
    unblocked = reply === entry
    return reply
  }
  const heard: Ring[] = []
  const bell = new Bell(place.connection, 'bell', systemClock)
  bell.on(ring => heard.push(ring))
  const made = place.fake.heard.filter(name => name === 'info').length
  const listening = bell.listen()
  await vi.waitUntil(() => heard.some(({ what }) => what === 'ended'), { timeout: 5000, interval: 10 })
  expect(heard.slice(0, 2)).toEqual([{ what: 'missed' }, { what: 'missed' }])
  expect(place.fake.heard.filter(name => name === 'info').length).toBeGreaterThan(made)
  bell.close()
  place.connection.close()
  await listening
})
