/** The store connects only to a usable Redis, and says why when there is none. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { Connection } from '../../../src/store/connection.ts'
import { ownRedis } from '../../kit/store/store.ts'
import { error, FakeRedis } from './fake-redis.ts'

interface Attempt {
  readonly connection: Connection
  readonly troubles: string[]
}

function connect(url: string, password?: string): Attempt {
  const troubles: string[] = []
  const config = configSchema.shape.redis.parse({ url })
  const log = { warn: (fields: object) => troubles.push((fields as { reason: string }).reason), info: () => {} }
  const connection = new Connection({ config, login: { password }, clock: systemClock, log })
  onTestFinished(() => connection.close())
  connection.open()
  return { connection, troubles }
}

async function fake(...options: Parameters<typeof FakeRedis.start>): Promise<FakeRedis> {
  const server = await FakeRedis.start(...options)
  onTestFinished(() => server.stop())
  return server
}

/** Resolves when the connection for commands has ended once. */
const closed = ({ connection }: Attempt) => new Promise(resolve => connection.commands.once('close', resolve))
const isReady = ({ status }: Connection['commands']) => status === 'ready'
/** Both connections are ready: the listening one may be refused for a moment longer. */
const ready = ({ connection: { commands, listening } }: Attempt) =>
  vi.waitUntil(() => isReady(commands) && isReady(listening), { timeout: 5000, interval: 5 })

async function expectRefused(url: string, words: string, final: boolean): Promise<void> {
  const attempt = connect(url)
  await closed(attempt)
  expect(attempt.connection.trouble()).toEqual({ words, detail: '', final })
  expect(attempt.connection.connected()).toBe(false)
  expect(attempt.troubles).toEqual([words])
  await expect(attempt.connection.identity()).rejects.toThrow(`Redis does not answer: ${words}`)
}

test.each(['6.2.14', '5.0.7', '6.9', '2.8.24'])('the connection refuses Redis %s', async version => {
  await expectRefused((await fake({ version })).url, `Redis is ${version}: it must be 7.0 or newer`, true)
})

test.each(['7.0.0', '7.2.4', '8.6.1', '255.255.255'])('the connection takes Redis %s', async version => {
  const attempt = connect((await fake({ version })).url)
  await ready(attempt)
  expect(attempt.connection.trouble()).toBeUndefined()
  expect(await attempt.connection.identity()).toBe('fake-history')
})

test('the connection takes a fork when its redis_version is new enough', async () => {
  const more = { valkey_version: '8.1.0', server_name: 'valkey', cluster_enabled: '0' }
  await ready(connect((await fake({ version: '7.2.4', more })).url))
})

test('the connection refuses a real Redis Cluster', async () => {
  const server = await ownRedis({ cluster: true })
  onTestFinished(() => server.stop())
  const words = 'Redis is a Redis Cluster, which is not supported: it must be one server, with cluster-enabled no'
  await expectRefused(server.url, words, true)
})

test('the connection refuses a Sentinel', async () => {
  const words = 'Redis is a Sentinel: redis.url must name the server that it watches'
  await expectRefused((await fake({ more: { redis_mode: 'sentinel' } })).url, words, true)
})

test('the connection refuses a server that may evict keys', async () => {
  const words = 'Redis has maxmemory-policy allkeys-lru: it must be noeviction, or labs would be forgotten'
  await expectRefused((await fake({ more: { maxmemory_policy: 'allkeys-lru' } })).url, words, true)
})

test('the connection refuses a server that hides its version', async () => {
  const server = await fake({}, ([name]) =>
    name?.toLowerCase() === 'info' ? error("NOPERM this user has no permissions to run the 'info' command") : undefined,
  )
  const words = 'Redis does not report its version: its user must be permitted the command INFO'
  await expectRefused(server.url, words, true)
})

test('the connection waits beside a replica until it is a master', async () => {
  const server = await fake({ role: 'slave' })
  const attempt = connect(server.url)
  await closed(attempt)
  expect(attempt.connection.trouble()).toMatchObject({
    words: 'Redis is a replica of another one: it takes no writes',
    final: false,
  })
  server.info = { role: 'master' }
  await ready(attempt)
  expect(attempt.connection.trouble()).toBeUndefined()
})

test('the connection waits while its password is refused, and says so', async () => {
  const wrong = 'WRONGPASS invalid username-password pair or user is disabled.'
  let right = false
  const server = await fake({}, ([name]) => (name?.toLowerCase() === 'auth' && !right ? error(wrong) : undefined))
  const attempt = connect(server.url, 'secret')
  await closed(attempt)
  expect(attempt.connection.trouble()).toMatchObject({ words: 'wrong user name or password', final: false })
  expect(attempt.troubles).toEqual([
    'wrong user name or password (WRONGPASS invalid username-password pair or user is disabled)',
  ])
  right = true
  await ready(attempt)
  expect(attempt.connection.trouble()).toBeUndefined()
})
