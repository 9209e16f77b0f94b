/** The engine of a kind, on Redis alone: two engines run toys that are accepted, superseded and handed over. */
import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { Slots } from '../../../src/base/slots.ts'
import { configSchema } from '../../../src/config/schema.ts'
import type { Basics } from '../../../src/run/basics.ts'
import { joinKind } from '../../../src/run/kind.ts'
import { joinStore } from '../../../src/run/store.ts'
import { OperationStore } from '../../../src/store/operations.ts'
import { Sealer } from '../../../src/store/sealing.ts'
import { silentLogger } from '../../../src/telemetry/log.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { noTracing } from '../../../src/telemetry/tracing.ts'
import { deletion, eventsMs, tombstoneMs, useStore } from '../../kit/store/store.ts'
import { type Accepting, acceptRemoval, acceptToy } from '../../kit/toy/accept.ts'
import { clientOf } from '../../kit/toy/client.ts'
import { toy, toyForm } from '../../kit/toy/context.ts'
import { toyKind } from '../../kit/toy/kind.ts'
import { ToyWorld } from '../../kit/toy/world.ts'

const store = useStore()
const key = Buffer.alloc(32, 1)

/** The parts of a replica, but for labs. */
function engineOf(world: ToyWorld, replica: string) {
  const { server, prefix } = store()
  const redis = { url: server.programUrl, keyPrefix: prefix }
  const config = configSchema.parse({ redis, engine: { leaseTtlMs: 3000, scanIntervalMs: 300 } })
  const metrics = createMetrics(new Registry())
  const log = silentLogger()
  const settings = { config, sealingKeys: [key] }
  const basics = { settings, config, clock: systemClock, log, metrics, tracing: noTracing } as unknown as Basics
  const joined = joinStore(basics, { onComparing: () => {}, whyComparing: () => undefined })
  const kind = toyKind(clientOf(world.url, replica))
  const { operations, acceptance, engine, leases, room } = joinKind(basics, joined, {
    kind,
    access: joined.accessOf(kind),
    room: new Slots(4),
  })
  joined.connection.open()
  void joined.bell.listen()
  const stop = async () => {
    await engine.drain()
    await leases.close()
    joined.bell.close()
    joined.connection.close()
  }
  /** As a route of this replica does. */
  const accept = <T>(ask: (accepting: Accepting) => Promise<T>): Promise<T> =>
    acceptance.during(async () => {
      const accepted = await ask({ operations, sealer: joined.sealer })
      engine.wake()
      return accepted
    })
  const use = () => ({ owned: engine.size, free: room.free })
  return { start: () => engine.start(), stop, use, operations, accept }
}

async function makeToys() {
  const world = await ToyWorld.start()
  onTestFinished(() => world.stop())
  const { connection, keys } = store()
  const sealer = new Sealer([key])
  const sealing = { ids: sealer.ids, keepMs: 60_000, idleMs: 20_000 }
  const retention = { tombstoneMs, idempotencyMs: 600_000, eventsMs }
  const family = keys.family(toy)
  const operations = new OperationStore({ connection, keys, family, form: toyForm, retention, sealing })
  const create = (name: string, plan: object = {}) =>
    acceptToy({ operations, sealer }, name, { color: 'red', ...plan }, randomUUID())
  const ended = async (name: string) => {
    const isEnded = async () => {
      const read = await operations.events(name, undefined, 0)
      return read.found && read.ended && read.events.map(({ event, data }) => `${event} ${data}`)
    }
    await expect.poll(isEnded, { timeout: 20_000, interval: 20 }).toBeTruthy()
    return (await isEnded()) as string[]
  }
  return { world, create, ended, delete: (name: string) => operations.acceptDelete(deletion(name)) }
}

test('Engine makes toys, cleans up after a failure, and removes them', async () => {
  const { world, create, ended, delete: remove } = await makeToys()
  const { start, stop, operations, use } = engineOf(world, 'a')
  onTestFinished(stop)
  start()
  await Promise.all([create('t1'), create('t2', { broken: true })])
  expect((await ended('t1')).at(-1)).toBe('complete The toy t1 is as wished')
  expect(await ended('t2')).toContain('error The toy is broken')
  expect((await ended('t2')).at(-1)).toBe('failed The making of the toy t2 failed')
  expect(world.names).toEqual(['t1'])
  const subjects = { pending: 0, running: 1, terminating: 0, failed: 1 }
  expect(await operations.census()).toEqual({ subjects, waiting: 0, owned: 0, overdue: 0, longestWaitSeconds: 0 })
  await expect.poll(use).toEqual({ owned: 0, free: 4 })
  await remove('t1')
  expect((await ended('t1')).at(-1)).toBe('complete The toy t1 is as wished')
  expect(world.names).toEqual([])
  expect(await store().redis.exists(store().keys.family(toy).record('t1'))).toBe(0)
})

test('Engine hands its toys over when it drains, and another one ends them', async () => {
  const { world, create, ended } = await makeToys()
  const [first, second] = [engineOf(world, 'a'), engineOf(world, 'b')]
  first.start()
  const names = Array.from({ length: 8 }, (_, i) => `t${i}`)
  await Promise.all(names.map(name => create(name)))
  await expect.poll(() => world.journal.length, { timeout: 10_000, interval: 5 }).toBeGreaterThan(4)
  second.start()
  onTestFinished(second.stop)
  await first.stop()
  for (const name of names) expect((await ended(name)).at(-1)).toMatch(/^complete/)
  const made = world.journal.filter(({ code, method, what }) => code === 201 && method === 'POST' && what === 'thing')
  expect(made).toHaveLength(names.length)
  expect(new Set(world.journal.map(({ replica }) => replica))).toEqual(new Set(['a', 'b']))
})

test('a replica accepts toys by its own parts, and takes them at once, when nobody else looks', async () => {
  const { world, ended } = await makeToys()
  const { start, stop, accept, operations } = engineOf(world, 'a')
  onTestFinished(stop)
  start()
  const accepted = await accept(accepting => acceptToy(accepting, 't1', { color: 'red' }, 'n1'))
  expect(accepted).toMatchObject({ answer: 'accepted' })
  expect((await ended('t1')).at(-1)).toMatch(/^complete/)
  expect(await operations.find('t1')).toMatchObject({ record: { status: 'running', homeUid: world.home('t1')!.uid } })
  await accept(accepting => acceptRemoval(accepting, 't1', 'n2'))
  expect((await ended('t1')).at(-1)).toMatch(/^complete/)
  expect(await operations.find('t1')).toBeNull()
})
