import { beforeEach, describe, expect, it } from 'vitest'
import { route } from '../../../test/kit/apps/routes.ts'
import { ManualClock } from '../../../test/kit/clock.ts'
import { silentLog } from '../../../test/kit/log.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { RouteTable } from './tables.ts'
import { FakeBell, FakeTable, settle } from './testing/fakes.ts'

let clock: ManualClock
let bell: FakeBell
let redis: FakeTable<AppRoute>
let table: RouteTable
let changes: string[][]
let broken: number[]

beforeEach(() => {
  clock = new ManualClock()
  bell = new FakeBell()
  redis = new FakeTable()
  changes = []
  broken = []
  table = new RouteTable(redis, { bell, clock, log: silentLog, onBroken: entries => broken.push(entries) })
  table.onChange(changed => changes.push([...changed]))
})

const start = async () => {
  table.start()
  await settle()
}
const ring = (id: string) => bell.ring({ what: 'routes', subject: { kind: 'app', name: id } })
const pass = async (ms: number) => {
  clock.advance(ms)
  await settle()
}

describe('FollowedTable', () => {
  it('knows nothing before its first reading, and then what is there and what is not', async () => {
    redis.put('mlflow', route())
    expect(table.get('mlflow')).toBe('unknown')
    await start()
    expect(table.get('mlflow')).toEqual(route())
    expect(table.get('other')).toBeUndefined()
  })

  it('reads what a ring names, and nothing else', async () => {
    redis.put('mlflow', route())
    await start()
    redis.put('mlflow', route({ generation: 2 }))
    redis.put('other', route({ id: 'other' }))
    ring('mlflow')
    await settle()
    expect([redis.reads, redis.someReads]).toEqual([1, 1])
    expect(table.get('mlflow')).toMatchObject({ generation: 2 })
    expect(table.get('other')).toBeUndefined()
    expect(changes).toEqual([['mlflow'], ['mlflow']])
  })

  it('forgets what a ring names and is not there', async () => {
    redis.put('mlflow', route())
    await start()
    redis.remove('mlflow')
    ring('mlflow')
    await settle()
    expect(table.get('mlflow')).toBeUndefined()
    expect(changes.at(-1)).toEqual(['mlflow'])
  })

  it.each([{ what: 'missed' } as const, { what: 'routes' } as const])('reads all after $what', async all => {
    await start()
    redis.put('mlflow', route())
    bell.ring(all)
    await settle()
    expect(table.get('mlflow')).toEqual(route())
    expect(redis.reads).toBe(2)
  })

  it('ignores rings of other tables', async () => {
    await start()
    bell.ring({ what: 'members' })
    bell.ring({ what: 'sessions', subject: { kind: 'app', name: 'mlflow' } })
    await settle()
    expect([redis.reads, redis.someReads]).toEqual([1, 0])
  })

  it('finds a change without a ring within two seconds, and reads nothing when there is no change', async () => {
    await start()
    await pass(2_000)
    expect([redis.reads, redis.looks]).toEqual([1, 1])
    redis.put('mlflow', route())
    await pass(2_000)
    expect(table.get('mlflow')).toEqual(route())
    expect(redis.reads).toBe(2)
  })

  it('keeps what it has when the mark is missing, and takes what comes', async () => {
    redis.put('mlflow', route({ generation: 7 }))
    redis.put('other', route({ id: 'other' }))
    await start()
    redis.empty()
    bell.ring({ what: 'missed' })
    await settle()
    expect(table.get('mlflow')).toMatchObject({ generation: 7 })
    expect(table.get('nothing')).toBeUndefined()
    // A writer that was stopped brings an old entry back.
    redis.put('mlflow', route({ generation: 3 }))
    redis.put('new', route({ id: 'new' }))
    for (const id of ['mlflow', 'new', 'other']) ring(id)
    await settle()
    expect(table.get('mlflow')).toMatchObject({ generation: 7 })
    expect(table.get('new')).toMatchObject({ id: 'new' })
    expect(table.get('other')).toMatchObject({ id: 'other' })
    redis.complete = true
    bell.ring({ what: 'routes' })
    await settle()
    expect(table.get('other')).toBeUndefined()
  })

  it('knows entries, but no absence, of a table that was never whole', async () => {
    redis.complete = false
    redis.put('mlflow', route())
    await start()
    expect(table.get('mlflow')).toEqual(route())
    expect(table.get('other')).toBe('unknown')
    redis.complete = true
    bell.ring({ what: 'routes' })
    await settle()
    expect(table.get('other')).toBeUndefined()
  })

  it('keeps what it has when Redis does not answer, says how old it is, and reads what rang', async () => {
    redis.put('mlflow', route())
    await start()
    const { checkedMs } = table
    redis.put('mlflow', route({ generation: 2 }))
    redis.isDown = true
    ring('mlflow')
    await settle()
    await pass(1_000)
    expect(table.get('mlflow')).toMatchObject({ generation: 1 })
    expect(table.checkedMs).toBe(checkedMs)
    expect(table.triedMs).toBeGreaterThan(checkedMs)
    redis.isDown = false
    await pass(1_000)
    expect(table.get('mlflow')).toMatchObject({ generation: 2 })
  })

  it('reads what rang as soon as Redis answers again', async () => {
    redis.put('mlflow', route())
    await start()
    redis.put('mlflow', route({ generation: 2 }))
    redis.isDown = true
    ring('mlflow')
    await settle()
    redis.isDown = false
    await pass(200)
    expect(table.get('mlflow')).toMatchObject({ generation: 2 })
    expect([redis.reads, redis.someReads]).toEqual([1, 1])
  })

  it('looks when it is asked to, also when Redis does not answer', async () => {
    await start()
    clock.advance(1_000)
    await table.look()
    expect(table.checkedMs).toBe(clock.monotonicMs())
    redis.isDown = true
    clock.advance(1_500)
    await table.look()
    expect([table.checkedMs, table.triedMs]).toEqual([clock.monotonicMs() - 1_500, clock.monotonicMs()])
    await table.stop()
    await table.look()
  })

  it('counts entries that cannot be read', async () => {
    redis.broken = new Set(['a', 'b', 'c'])
    await start()
    expect(broken).toEqual([3])
  })

  it('knows nothing of an entry that cannot be read, until it can be or is gone', async () => {
    redis.put('mlflow', route())
    await start()
    redis.remove('mlflow')
    redis.broken = new Set(['mlflow'])
    ring('mlflow')
    await settle()
    bell.ring({ what: 'missed' })
    await settle()
    expect([table.get('mlflow'), table.get('other')]).toEqual(['unknown', undefined])
    redis.broken = new Set()
    redis.put('mlflow', route({ generation: 2 }))
    ring('mlflow')
    await settle()
    expect(table.get('mlflow')).toMatchObject({ generation: 2 })
    redis.broken = new Set(['mlflow'])
    ring('mlflow')
    await settle()
    redis.remove('mlflow')
    redis.broken = new Set()
    bell.ring({ what: 'missed' })
    await settle()
    expect(table.get('mlflow')).toBeUndefined()
    expect(changes).toHaveLength(5)
  })
})
