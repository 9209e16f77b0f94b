/** What tests do to a Redis is done, be it a process or in a container: everything under `faults/` relies on that. */
import { Redis as Client } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { Redis } from '../../../dev/redis/redis.ts'
import { ownRedis } from '../../kit/store/store.ts'

async function start(options: Parameters<typeof ownRedis>[0] = {}): Promise<Redis> {
  const server = await ownRedis(options)
  onTestFinished(() => server.stop())
  return server
}

/** Connected, without patience. */
async function connect({ url }: Redis): Promise<Client> {
  const client = new Client(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  await client.connect()
  return client
}

const identity = async (client: Client) => /run_id:(\w+)/.exec(await client.info('server'))![1]

test('killed it is gone at once, and comes back empty at the same address', async () => {
  const server = await start()
  const first = await connect(server)
  await first.set('key', 'value')
  const ended = new Promise(resolve => first.once('end', resolve))
  await server.kill()
  await ended
  await expect(connect(server)).rejects.toThrow()
  await server.start()
  const second = await connect(server)
  expect(await second.get('key')).toBeNull()
  // Once more is no error where it has ended already.
  await server.kill()
  await server.kill()
})

test('restarted with its file it is another process, with its data', async () => {
  const server = await start({ aof: true })
  const first = await connect(server)
  const before = await identity(first)
  await first.set('key', 'value')
  // What was answered is in the file, if not on the disk yet: the end of the process alone loses nothing.
  await server.restart()
  const second = await connect(server)
  expect(await second.get('key')).toBe('value')
  expect(await identity(second)).not.toBe(before)
})

test('halted it keeps its connections and answers nobody; resumed it answers what was asked', async () => {
  const server = await start()
  const client = await connect(server)
  await server.pause()
  const asked = client.ping()
  const silence = new Promise(resolve => setTimeout(() => resolve('silence'), 300))
  expect(await Promise.race([asked, silence])).toBe('silence')
  await server.resume()
  expect(await asked).toBe('PONG')
})

test('it can be killed while it is halted, and stopped when it has ended', async () => {
  const server = await start()
  await server.pause()
  await server.kill()
  await server.start()
  expect(await (await connect(server)).ping()).toBe('PONG')
  await server.kill()
  await server.stop()
  await server.stop()
})
