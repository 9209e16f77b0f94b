/** Time limits of the connections: a Redis that is silent is given up, and one that answers is not, however long we were halted. */
import { expect, onTestFinished, test } from 'vitest'
import type { Redis } from '../../../dev/redis/redis.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { Connection, listenMs } from '../../../src/store/connection.ts'
import { halt } from '../../kit/failpoints/halt.ts'
import { opened } from '../../kit/store/opened.ts'
import { ownRedis } from '../../kit/store/store.ts'

interface Place {
  readonly server: Redis
  readonly connection: Connection
  /** By connection, how often it was closed. */
  readonly closed: { commands: number; listening: number }
}

async function connect(commandTimeoutMs: number): Promise<Place> {
  const server = await ownRedis()
  const config = configSchema.shape.redis.parse({ url: server.url, commandTimeoutMs })
  const connection = new Connection({ config, clock: systemClock })
  onTestFinished(async () => {
    connection.close()
    await server.stop()
  })
  await opened(connection)
  const closed = { commands: 0, listening: 0 }
  for (const name of ['commands', 'listening'] as const) connection[name].on('close', () => closed[name]++)
  return { server, connection, closed }
}

test('commands are answered, and their connection stays, when this process was halted for longer than both limits', async () => {
  const { connection, closed } = await connect(200)
  const asked = [connection.read('get', redis => redis.get('key')), connection.newest('key')]
  const written = connection.commands.set('key', 'value')
  // They are sent now.
  await new Promise(setImmediate)
  halt(1000)
  expect(await Promise.all(asked)).toEqual([null, undefined])
  expect(await written).toBe('OK')
  expect(closed).toEqual({ commands: 0, listening: 0 })
})

test('the listening connection stays when this process was halted for longer than its limit', async () => {
  const { connection, closed } = await connect(200)
  const heard = connection.listening.xread('BLOCK', listenMs, 'STREAMS', 'key', '0')
  await new Promise(setImmediate)
  halt(listenMs + 2000)
  expect(await heard).toBeNull()
  expect(closed.listening).toBe(0)
})

test('a rejection that nobody handles is reported when a command has a limit', async () => {
  const { connection } = await connect(200)
  // Those of the test runner would make it a failure.
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  onTestFinished(() => {
    for (const other of others) process.on('unhandledRejection', other)
  })
  const reported = new Promise(resolve => process.once('unhandledRejection', resolve))
  void connection.commands.call('nosuchcommand')
  expect(String(await reported)).toMatch(/unknown command/)
})

test('a command is given up after its limit, and its connection after three, when Redis is silent', async () => {
  const { server, connection, closed } = await connect(200)
  const gone = new Promise(resolve => connection.commands.once('close', resolve))
  await server.pause()
  const begunMs = performance.now()
  await expect(connection.commands.get('key')).rejects.toThrow('Command timed out')
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(200)
  expect(closed.commands).toBe(0)
  await gone
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(600)
  await server.resume()
  await new Promise(resolve => connection.commands.once('ready', resolve))
  expect(await connection.commands.get('key')).toBeNull()
})

test('a connection stays when every answer comes too late, but some answer comes within the limit of silence', async () => {
  const { server, connection, closed } = await connect(200)
  const late: unknown[] = []
  for (let i = 0; i < 4; i++) {
    await server.pause()
    late.push(await connection.commands.get('key').catch((error: Error) => error.message))
    await server.resume()
    // The answer of the former one is read with it.
    expect(await connection.commands.ping()).toBe('PONG')
  }
  expect(late).toEqual(Array(4).fill('Command timed out'))
  expect(closed.commands).toBe(0)
})

test('a connection stays when each answer comes within the limit of silence, and others are always due', async () => {
  const { connection, closed } = await connect(200)
  const endMs = performance.now() + 1500
  const ask = async (): Promise<void> => {
    while (performance.now() < endMs) await connection.commands.get('key')
  }
  await Promise.all([ask(), ask(), ask()])
  expect(closed.commands).toBe(0)
})

test('the listening connection is given up when Redis is silent for longer than it blocks', async () => {
  const { server, connection } = await connect(200)
  const gone = new Promise(resolve => connection.listening.once('close', resolve))
  await server.pause()
  const heard = connection.listening.xread('BLOCK', listenMs, 'STREAMS', 'key', '0')
  await expect(heard).rejects.toThrow()
  await gone
  await server.resume()
})
