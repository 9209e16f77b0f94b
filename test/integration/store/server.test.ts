/** Tests kill, restart and halt a Redis, in a process or a container: the attacks in `faults/` rely on that. */
import { Redis as Client } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import type { Redis } from '../../../dev/redis/redis.ts'
import { monitorRedis } from '../../kit/store/monitor.ts'
import { ownRedis } from '../../kit/store/store.ts'

async function start(options: Parameters<typeof ownRedis>[0] = {}): Promise<Redis> {
  const server = await ownRedis(options)
  onTestFinished(() => server.stop())
  return server
}

/** Connects without repeats. */
async function connect({ url }: Redis): Promise<Client> {
  const client = new Client(url, { lazyConnect: true, maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  await client.connect()
  return client
}

const identity = async (client: Client) => /run_id:(\w+)/.exec(await client.info('server'))![1]

test('a killed Redis is gone at once, and comes back empty at the same address', async () => {
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
  // Killing it again is no error.
  await server.kill()
  await server.kill()
})

test('a Redis restarted with its file is another process with its data', async () => {
  const server = await start({ aof: true })
  const first = await connect(server)
  const before = await identity(first)
  await first.set('key', 'value')
  // Answered writes are in the file, if not yet on the disk: the end of the process alone loses nothing.
  await server.restart()
  const second = await connect(server)
  expect(await second.get('key')).toBe('value')
  expect(await identity(second)).not.toBe(before)
})

test('a halted Redis keeps its connections and answers nothing, and answers pending requests when resumed', async () => {
  const server = await start()
  const client = await connect(server)
  await server.pause()
  const asked = client.ping()
  const silence = new Promise(resolve => setTimeout(() => resolve('silence'), 300))
  expect(await Promise.race([asked, silence])).toBe('silence')
  await server.resume()
  expect(await asked).toBe('PONG')
})

test('a Redis can be killed while it is halted, and stopped when it has ended', async () => {
  const server = await start()
  await server.pause()
  await server.kill()
  await server.start()
  expect(await (await connect(server)).ping()).toBe('PONG')
  await server.kill()
  await server.stop()
  await server.stop()
})

test('monitorRedis gives every command, also those that come with its first answer', async () => {
  const server = await start()
  const client = await connect(server)
  let isOver = false
  const asking = (async () => {
    while (!isOver) await Promise.all(Array.from({ length: 20 }, () => client.get('asked')))
  })()
  for (let i = 0; i < 20; i += 1) {
    const heard = Promise.withResolvers<string>()
    const close = await monitorRedis(server.url, heard.resolve)
    expect(await heard.promise).toMatch(/^\+[0-9.]+ \[0 .*\] "get" "asked"$/)
    close()
  }
  isOver = true
  await asking
})
