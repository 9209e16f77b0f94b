/** Redis is emptied or restarted between any two scripts of an operation: nothing stale remains, no number repeats. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Redis } from '../../../dev/redis/redis.ts'
import type { Accepted } from '../../../src/store/acceptance.ts'
import type { Connection } from '../../../src/store/connection.ts'
import { LabStore } from '../../../src/store/labs.ts'
import type { Ownership } from '../../../src/store/owners.ts'
import { callCommand, defineCommands } from '../../../src/store/scripts.ts'
import { creation, eventsMs, ownRedis, Store, sealing, tombstoneMs, useStore } from '../../kit/store/store.ts'

const store = useStore()

/** The scripts of a life, in order; each uses the results of those before it. */
const life: readonly [string, (by: Ownership | undefined) => Promise<Ownership | undefined>][] = [
  [
    'accept',
    async () => {
      await store().create('ada')
      return undefined
    },
  ],
  ['claim', async () => (await store().own('ada')).by],
  ['commit', by => also(by, store().owners.commit(by!, 1, [['info', 'made']], { namespaceUid: 'ns' }))],
  ['extend', by => also(by, store().owners.extend([by!], 3000))],
  ['finish', by => also(by, store().owners.finish(by!, 2, [['complete', 'up']], 'running', { podUid: 'pod-uid' }))],
  ['accept the deletion', by => also(by, store().delete('ada'))],
]

async function also(by: Ownership | undefined, done: Promise<unknown>): Promise<Ownership | undefined> {
  await done
  return by
}

/** Every write that a former owner may still send. */
async function writesOf(by: Ownership): Promise<void> {
  const { owners } = store()
  await expect(owners.commit(by, 1, [['info', 'stale']], { step: 'stale' })).rejects.toThrow('moved on')
  for (const outcome of ['running', 'failed', 'gone'] as const) {
    await expect(owners.finish(by, 1, [['failed', 'stale']], outcome, {})).rejects.toThrow('moved on')
  }
  expect(await owners.extend([by], 3000)).toEqual([false])
  await owners.release(by)
}

test.each(life.map(([name], place) => [name, place] as const))(
  'the store accepts no stale write when Redis is emptied after %s',
  async (_, place) => {
    const { redis, keys } = store()
    const ops: number[] = []
    let by: Ownership | undefined
    for (const [, act] of life.slice(0, place + 1)) by = await act(by)
    ops.push((await store().record('ada'))!.op)
    const rings = await store().rings()
    expect(rings).toBeGreaterThan(0)
    await redis.flushall()
    await expect(store().create('ada')).rejects.toMatchObject({ status: 503 })
    if (by) await writesOf(by)
    await redis.del(keys.bell)
    expect(await redis.keys('*')).toEqual([])
    await store().compare(ops[0])
    if (by) await writesOf(by)
    const next = await store().create('ada')
    expect(next).toBeGreaterThan(ops[0]!)
    if (by) await writesOf(by)
    expect(await store().eventsOf('ada')).toEqual([[1, 'info', 'begun']])
    expect(await store().record('ada')).toMatchObject({ op: next, step: '', seq: 1, token: '' })
  },
)

test('no number repeats over twenty losses of all data, with accepts as fast as Redis allows', async () => {
  const { compares, redis, keys } = store()
  const { identity } = await compares.begin('nonce', 1)
  defineCommands(redis)
  // Sent at once, in this order: nothing comes between a number and its loss.
  const run = async (name: string, names: string[], args: (identity: string) => (string | number)[]) =>
    callCommand(redis, name, names, args(identity))
  const retention = { tombstoneMs, idempotencyMs: 1000, eventsMs }
  const labs = new LabStore({ connection: { run } as unknown as Connection, keys, retention, sealing })
  const accepted: Promise<unknown>[] = []
  for (let round = 0; round < 20; round++) {
    void redis.flushall()
    void redis.hset(keys.generation, 'identity', identity)
    for (let i = 0; i < 400; i++) accepted.push(labs.acceptCreate(creation(`u${i}`)))
  }
  const ops = (await Promise.all(accepted)).map(answer => (answer as Accepted).op)
  expect(ops).toHaveLength(8000)
  expect(ops.filter((op, i) => i > 0 && op <= ops[i - 1]!)).toEqual([])
})

let lasting: Redis
beforeAll(async () => {
  lasting = await ownRedis({ aof: true })
})
afterAll(() => lasting?.stop())

test('a Redis restarted with its data is compared again, and its operations are held', async () => {
  const kept = await Store.open(lasting)
  try {
    await kept.compare()
    const running = await kept.run('ada')
    const again = creation('grace')
    const pending = await kept.labs.acceptCreate(again)
    const { by } = await kept.own('grace')
    const back = new Promise(resolve => kept.connection.commands.once('ready', resolve))
    await lasting.restart()
    await back
    await expect(kept.labs.find('ada')).rejects.toMatchObject({ status: 503 })
    await expect(kept.labs.acceptCreate(again)).rejects.toMatchObject({ status: 503 })
    const mark = await kept.compares.begin('nonce', 60_000)
    expect(mark).toMatchObject({ needed: true, foundOp: (pending as { op: number }).op })
    expect(await kept.compares.end(mark, running)).toBe(true)
    expect(await kept.labs.find('ada')).toMatchObject({ record: { op: running, status: 'running' } })
    expect(await kept.labs.acceptCreate(again)).toEqual(pending)
    // The owner goes on: it may extend and commit; only new owners wait.
    expect(await kept.owners.extend([by], 3000)).toEqual([true])
    await kept.owners.commit(by, 1, [['info', 'goes on']], {})
    await kept.owners.release(by)
    await kept.hold('grace', 'mine')
    expect(await kept.owners.claim('grace', 'mine', 3000)).toBeNull()
  } finally {
    kept.close()
  }
})

test('a Redis restarted empty accepts no writes of an earlier compare', async () => {
  const server = await ownRedis()
  const kept = await Store.open(server)
  try {
    await kept.compare()
    await kept.run('ada')
    const mark = await kept.compares.begin('nonce', 1)
    const back = new Promise(resolve => kept.connection.commands.once('ready', resolve))
    await server.restart()
    await back
    await expect(kept.compares.end(mark, 1)).rejects.toThrow('Redis was replaced')
    await expect(kept.labs.find('ada')).rejects.toMatchObject({ status: 503 })
    await kept.compare()
    expect(await kept.labs.find('ada')).toBeNull()
  } finally {
    kept.close()
    await server.stop()
  }
})
