/** Redis fails over, and connections stay at the demoted server: streams still learn of later events. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../../../dev/process/ports.ts'
import { type Redis, urlsAt } from '../../../dev/redis/redis.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Feeds } from '../../../src/ops/labs/feeds.ts'
import { Bell } from '../../../src/store/bell.ts'
import { StreamReader } from '../../../src/store/streams.ts'
import { TcpProxy } from '../../kit/network/proxy.ts'
import { ownRedis, Store } from '../../kit/store/store.ts'

interface Place {
  readonly first: Redis
  readonly second: Redis
  readonly way: TcpProxy
  readonly store: Store
}

/** A store whose address leads to the first of two servers. */
async function start(): Promise<Place> {
  const [first, second] = await Promise.all([ownRedis(), ownRedis()])
  const way = await TcpProxy.before(first.url)
  await way.open()
  const store = await Store.open(first, undefined, urlsAt(`127.0.0.1:${way.port}`).programUrl)
  onTestFinished(async () => {
    store.close()
    await way.shut()
    await Promise.all([first.stop(), second.stop()])
  })
  await store.compare()
  return { first, second, way, store }
}

/** A client's view of a user's stream, through a replica's own reader of the bell. */
async function follow(store: Store, user: string): Promise<{ events: string[]; ended: Promise<void> }> {
  const bell = new Bell(store.connection, store.keys.bell, systemClock)
  const feeds = new Feeds(store.labs, new StreamReader(bell, systemClock))
  const settled = new Promise<void>(resolve => {
    const off = bell.on(() => {
      off()
      resolve()
    })
  })
  const listening = bell.listen()
  await settled
  const feed = await feeds.open(user, undefined)
  if (feed === null || feed === 'ended') throw new Error('there is no stream')
  const stopping = new AbortController()
  const events: string[] = []
  const read = async () => {
    for await (const batch of feed.read(stopping.signal)) events.push(...batch.map(({ event }) => event))
  }
  const ended = read()
  onTestFinished(async () => {
    stopping.abort()
    bell.close()
    store.connection.listening.disconnect()
    await Promise.all([listening, ended])
  })
  await vi.waitUntil(() => events.length > 0, { timeout: 5000, interval: 10 })
  return { events, ended }
}

/** Copies the first server's data to the second, which is a master of its own from then on. */
async function promote({ first, second, store }: Place): Promise<Store> {
  const other = await Store.open(second, store.prefix)
  onTestFinished(() => other.close())
  await other.redis.call('REPLICAOF', '127.0.0.1', first.port)
  await vi.waitUntil(async () => (await other.redis.exists(store.keys.generation)) === 1, {
    timeout: 10_000,
    interval: 20,
  })
  await other.redis.call('REPLICAOF', 'NO', 'ONE')
  return other
}

/** The id of the listening connection at the server. */
async function listenerOf({ store }: Place): Promise<number> {
  // Only the connection itself can ask for it; the program never does.
  await store.redis.call('ACL', 'SETUSER', 'program', '+client|id')
  return store.connection.listening.client('ID')
}

/** Makes it a replica of an unreachable master. The listening connection gets no notice. */
async function demote(place: Place, listener: number): Promise<void> {
  const answers = await place.store.redis
    .multi()
    .client('UNBLOCK', listener)
    .call('REPLICAOF', '127.0.0.1', await freePort())
    .exec()
  for (const [error] of answers ?? []) if (error) throw error
}

/** Runs a compare and ends the user's creation at the new master, through other connections. */
async function finish(other: Store, user: string): Promise<void> {
  await other.compare()
  await vi.waitUntil(async () => !(await other.redis.exists(other.keys.hold)), { timeout: 5000, interval: 5 })
  const { by } = await other.own(user)
  await other.owners.finish(by, 1, [['complete', 'up']], 'running', { podUid: 'pod', podPresent: true })
}

const within = (ms: number, ended: Promise<void>) =>
  Promise.race([ended.then(() => 'ended'), new Promise(resolve => setTimeout(resolve, ms)).then(() => 'waits')])

test('a stream ends when the listening connection stays at a demoted server', async () => {
  const place = await start()
  const { store, way } = place
  await store.create('ada')
  const listener = await listenerOf(place)
  const { events, ended } = await follow(store, 'ada')
  const other = await promote(place)
  await demote(place, listener)
  way.leadNewTo(place.second.url)
  await finish(other, 'ada')
  // An engine writes each second: the refusal shows the demotion to the connection for commands.
  await store.create('grace').catch(() => {})
  expect(await within(15_000, ended)).toBe('ended')
  expect(events).toEqual(['info', 'complete'])
})

test('a stream ends, and nothing is written, when both connections stay at a demoted server', async () => {
  const place = await start()
  const { store, way } = place
  await store.create('ada')
  const listener = await listenerOf(place)
  const { events, ended } = await follow(store, 'ada')
  const other = await promote(place)
  await demote(place, listener)
  way.leadNewTo(place.second.url)
  await finish(other, 'ada')
  expect(await within(15_000, ended)).toBe('ended')
  expect(events).toEqual(['info', 'complete'])
})

test('a stream ends when the listening connection stays at a former master that is cut off from the new one', async () => {
  const place = await start()
  const { store, way } = place
  await store.create('ada')
  const { events, ended } = await follow(store, 'ada')
  const other = await promote(place)
  way.leadNewTo(place.second.url)
  const moved = new Promise(resolve => store.connection.commands.once('ready', resolve))
  store.connection.commands.disconnect(true)
  await moved
  await finish(other, 'ada')
  expect(await within(15_000, ended)).toBe('ended')
  expect(events).toEqual(['info', 'complete'])
})

test('the new master answers a command in time when the former one refuses it', async () => {
  const place = await start()
  const { store, way } = place
  const other = await promote(place)
  await other.compare()
  await store.redis.call('REPLICAOF', '127.0.0.1', await freePort())
  way.leadNewTo(place.second.url)
  const mark = await store.compares.begin('nonce', 1)
  expect(mark.identity).toBe(await other.connection.identity())
  expect(await store.create('ada')).toBeGreaterThan(0)
})

test('the store ignores the former identity when a server was a replica in between', async () => {
  const { store } = await start()
  const before = await store.connection.identity()
  await store.redis
    .multi()
    .call('REPLICAOF', '127.0.0.1', await freePort())
    .call('REPLICAOF', 'NO', 'ONE')
    .exec()
  await store.connection.newest(store.keys.bell)
  expect(await store.connection.identity()).not.toBe(before)
  await expect(store.labs.find('ada')).rejects.toMatchObject({ status: 503 })
})
