import { afterEach, beforeEach, expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { keepingLog } from '../../test/kit/log.ts'
import { RetryLater } from '../base/errors.ts'
import { FakeLeases } from '../reconcile/testing/samples.ts'
import type { Entry, PutAnswer } from '../store/apps/entries.ts'
import { type KeptTable, TableKeeper } from './table-keeper.ts'

interface Row extends Entry {
  readonly phase: string
}
const row = (uid: string, phase = 'Ready'): Row => ({ uid, phase, generation: 1, createdMs: 1 })

/** A table of Redis in memory; every replica sees the same. */
class FakeTable {
  readonly entries = new Map<string, Row>()
  /** When it became complete; 0: it is not. */
  complete = 0
  wanted: Map<string, Row> | undefined = new Map()
  /** UIDs that the API server still has, or the watches know. */
  readonly living = new Set<string>()
  readonly kept = new Set<string>()
  answer: PutAnswer | Error = 'written'
  readonly calls: string[] = []
  isSilent = false
  /** Happens once, between the next reading and its answer. */
  duringRead: (() => void) | undefined

  table(): KeptTable<Row> {
    return {
      name: 'routes',
      wanted: () => this.wanted,
      read: async () => {
        const read = { complete: this.complete > 0, entries: new Map(this.#heard('read') && this.entries) }
        this.duringRead?.()
        this.duringRead = undefined
        return read
      },
      version: async () => `${this.#heard('version') && (this.complete || '')} 1`,
      put: async (name, entry) => {
        this.#heard(`put ${name}`)
        if (this.answer instanceof Error) throw this.answer
        if (this.answer === 'written') this.entries.set(name, entry)
        return this.answer
      },
      remove: async (name, uid) => this.#heard(`remove ${name} ${uid}`) && this.entries.delete(name),
      complete: async () => {
        this.#heard('complete')
        this.complete = this.calls.length
      },
      keeps: (_, { uid }) => this.kept.has(uid),
      isGone: async (_, { uid }) => !this.living.has(uid),
    }
  }

  #heard(call: string): true {
    if (this.isSilent) throw new RetryLater('Redis does not answer')
    this.calls.push(call)
    return true
  }
}

let [clock, log, fake, leases] = [new ManualClock(), keepingLog(), new FakeTable(), new FakeLeases()]
let keeper: TableKeeper<Row>

beforeEach(() => {
  ;[clock, log, fake, leases] = [new ManualClock(), keepingLog(), new FakeTable(), new FakeLeases()]
  keeper = new TableKeeper({ table: fake.table(), clock, log, leases, lease: 'lease' })
})
afterEach(async () => {
  const stopped = keeper.stop()
  await pass(1)
  await stopped
})

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 100) {
    clock.advance(Math.min(100, left))
    for (let i = 0; i < 5; i++) await new Promise(resolve => setImmediate(resolve))
  }
}

test('the keeper writes what is missing, and then says that the table is complete', async () => {
  fake.wanted!.set('a', row('1'))
  keeper.start()
  await pass(100)
  expect(fake.calls.filter(call => !['read', 'version'].includes(call))).toEqual(['put a', 'complete'])
})

test('the keeper says nothing while the watches do not show all', async () => {
  fake.wanted = undefined
  keeper.start()
  await pass(5_000)
  expect(fake.calls).toEqual([])
})

test('the keeper removes what is gone by the API server’s word, and waits where a watch lags', async () => {
  fake.entries.set('gone', row('1'))
  fake.entries.set('new', row('2'))
  fake.living.add('2')
  keeper.start()
  await pass(100)
  expect([...fake.entries.keys()]).toEqual(['new'])
  expect(fake.calls).not.toContain('complete')
  fake.wanted!.set('new', row('2'))
  await pass(1_500)
  expect(fake.complete).toBeGreaterThan(0)
})

test('the keeper leaves an entry that something keeps, and is complete with it', async () => {
  fake.entries.set('refused', row('1', 'Error'))
  fake.kept.add('1')
  keeper.start()
  await pass(100)
  expect([...fake.entries.keys()]).toEqual(['refused'])
  expect(fake.complete).toBeGreaterThan(0)
})

test('the keeper writes everything again when Redis was emptied', async () => {
  fake.wanted!.set('a', row('1'))
  keeper.start()
  await pass(3_000)
  fake.entries.clear()
  fake.complete = 0
  keeper.compare()
  await pass(100)
  expect([...fake.entries.keys()]).toEqual(['a'])
  expect(fake.complete).toBeGreaterThan(0)
})

test('the keeper writes what changes while it reads a table that was as wanted before', async () => {
  fake.wanted!.set('a', row('1'))
  keeper.start()
  await pass(3_000)
  fake.calls.length = 0
  fake.duringRead = () => {
    fake.wanted = new Map([['a', row('1', 'Error')]])
    keeper.compare()
  }
  keeper.compare()
  await pass(1_000)
  expect(fake.calls).toContain('put a')
})

test('the keeper finds an emptied Redis within a minute when nobody tells it', async () => {
  fake.wanted!.set('a', row('1'))
  keeper.start()
  await pass(3_000)
  fake.entries.clear()
  fake.complete = 0
  await pass(40_000)
  expect([...fake.entries.keys()]).toEqual(['a'])
})

/** The table is as wanted. @returns how often the lease was asked for until then */
async function atRest(): Promise<number> {
  fake.wanted!.set('a', row('1'))
  keeper.start()
  await pass(5_000)
  fake.calls.length = 0
  return leases.asked
}

test('the keeper takes no lease and reads no table while nothing changes', async () => {
  const before = await atRest()
  await pass(120_000)
  expect(new Set(fake.calls)).toEqual(new Set(['version']))
  expect([leases.asked, fake.calls.length <= 5]).toEqual([before, true])
})

test('the keeper reads the table once in five minutes, and takes no lease, while nothing changes', async () => {
  const before = await atRest()
  await pass(1_200_000)
  const reads = fake.calls.filter(call => call !== 'version')
  expect([new Set(reads), leases.asked]).toEqual([new Set(['read']), before])
  expect([3, 4]).toContain(reads.length)
})

test('the keeper removes what is wanted no longer when nobody tells it', async () => {
  for (const name of ['a', 'b']) fake.wanted!.set(name, row(name))
  keeper.start()
  await pass(3_000)
  fake.wanted!.delete('a')
  await pass(360_000)
  expect(fake.calls).toContain('remove a a')
  expect([...fake.entries.keys()]).toEqual(['b'])
})

test('the keeper leaves the work to another replica that has the lease', async () => {
  fake.wanted!.set('a', row('1'))
  leases.held.add('lease')
  keeper.start()
  await pass(3_000)
  expect(fake.calls.filter(call => call.startsWith('put'))).toEqual([])
  leases.held.delete('lease')
  await pass(2_000)
  expect(fake.complete).toBeGreaterThan(0)
})

test('the keeper does not call a table complete in which something later stands', async () => {
  fake.wanted!.set('a', row('1'))
  fake.answer = 'older'
  keeper.start()
  await pass(2_000)
  expect(fake.complete).toBe(0)
})

test('the keeper is complete without an entry that is not fit to be written', async () => {
  fake.wanted!.set('a', row('1'))
  fake.answer = new Error('not well-formed')
  keeper.start()
  await pass(100)
  expect(fake.complete).toBeGreaterThan(0)
  expect(log.messages).toContain('error: an entry of the table of routes is not fit to be written')
})

test('the keeper goes on when Redis answers again', async () => {
  fake.wanted!.set('a', row('1'))
  fake.isSilent = true
  keeper.start()
  await pass(3_000)
  fake.isSilent = false
  await pass(31_000)
  expect(fake.complete).toBeGreaterThan(0)
})
