import { afterEach, beforeEach, expect, test } from 'vitest'
import { bill, end } from '../../test/kit/billing/bills.ts'
import { FakeOutbox } from '../../test/kit/billing/outbox.ts'
import { ManualClock } from '../../test/kit/clock.ts'
import { keepingLog } from '../../test/kit/log.ts'
import type { Bill, BillEntry } from '../base/bill.ts'
import { RetryLater } from '../base/errors.ts'
import { FakeLeases } from '../reconcile/testing/samples.ts'
import type { Listed } from './differences.ts'
import type { SenderOptions } from './options.ts'
import { Sender } from './sender.ts'
import { SqliteTable } from './sqlite/table.ts'
import { type BillTable, Refused, TableTrouble } from './table.ts'

/** Outbox, table and cluster, of which every replica sees the same. */
class Scene {
  readonly clock = new ManualClock()
  readonly log = keepingLog()
  readonly leases = new FakeLeases()
  readonly outbox = new FakeOutbox()
  readonly inner = new SqliteTable({ file: ':memory:', table: 'T', log: true, cluster: 'test' })
  readonly cluster = new Map<string, Listed>()
  readonly told: string[] = []
  readonly outcomes: string[] = []
  readonly compared: string[] = []
  trouble: Error | undefined
  apiTrouble: Error | undefined
  unguarded: string | undefined
  isElsewhere = false
  refuses: string | undefined
  readonly #senders: Sender[] = []

  get table(): BillTable {
    return {
      write: async (bills: readonly Bill[]) => {
        this.#check()
        return Promise.all(
          bills.map(async each =>
            each.name === this.refuses ? new Refused('too long') : (await this.inner.write([each]))[0]!,
          ),
        )
      },
      read: async () => {
        this.#check()
        return this.inner.read()
      },
      // One in memory would be lost.
      rest: async () => {},
    }
  }

  #check(): void {
    if (this.trouble) throw this.trouble
  }

  sender(more: Partial<SenderOptions> = {}): Sender {
    const asked = <T>(value: T): T => {
      if (this.apiTrouble) throw this.apiTrouble
      return value
    }
    const sender = new Sender({
      ...{ table: this.table, store: this.outbox, leases: this.leases, lease: 'billing', leaseTtlMs: 10_000 },
      ...{ clock: this.clock, log: this.log, compareMs: 300_000 },
      list: async () => asked(new Map(this.cluster)),
      isGone: async ({ uid }) => asked(!this.cluster.has(uid)),
      isElsewhere: () => this.isElsewhere,
      unguarded: () => this.unguarded,
      onTold: name => this.told.push(name),
      onOutcome: ({ name }, outcome) => this.outcomes.push(`${name} ${outcome}`),
      onFailed: reason => this.outcomes.push(reason),
      onCompared: result => this.compared.push(result),
      ...more,
    })
    this.#senders.push(sender)
    sender.start()
    return sender
  }

  /** An LNamespace, which has had its turn. */
  declare(more: Partial<BillEntry> = {}): BillEntry {
    const entry = bill(more)
    this.cluster.set(entry.uid, { entry, isBilled: true })
    return entry
  }

  async pass(ms = 2_000): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      this.clock.advance(Math.min(100, left))
      for (let i = 0; i < 5; i += 1) await new Promise(resolve => setImmediate(resolve))
    }
  }

  async rows(): Promise<string[]> {
    const all = [...(await this.inner.read())].map(([uid, { generation, revision, billing }]) => {
      return `${uid} ${generation}.${revision} ${Object.values(billing).join()}`
    })
    return all.sort()
  }

  async stop(): Promise<void> {
    for (const sender of this.#senders) await sender.stop()
    await this.inner.rest()
  }
}

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.stop())

const away = new TableTrouble('Unreachable', 'nothing listens')

test('a bill is sent, reported, and waits no longer', async () => {
  const sender = scene.sender()
  await scene.pass()
  await scene.outbox.put(scene.declare())
  await scene.pass()
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
  expect([scene.told, scene.outcomes, sender.depth?.depth]).toEqual([['blue'], ['blue written'], 0])
  expect(sender.ledger.told('u1')).toEqual({ is: 'written', text: '[["cost-center","42"]]' })
})

test('bills of one LNamespace are written in their order, and each is in the log', async () => {
  for (const generation of [3, 1, 2]) await scene.outbox.put(bill({ generation, billing: { n: `${generation}` } }))
  scene.declare({ generation: 3, billing: { n: '3' } })
  scene.sender()
  await scene.pass()
  expect(scene.outcomes).toEqual(['blue written', 'blue written', 'blue written'])
  expect(await scene.rows()).toEqual(['u1 3.0 3'])
})

test('one replica sends, and another one takes over and compares', async () => {
  const first = scene.sender()
  await scene.pass()
  const second = scene.sender()
  await scene.pass()
  expect([first.depth !== undefined, second.depth]).toEqual([true, undefined])
  scene.declare()
  await first.stop()
  await scene.pass(5_000)
  expect(second.depth).toBeDefined()
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
})

test('a replica that lost the lease sends nothing and knows nothing any more', async () => {
  const sender = scene.sender()
  await scene.outbox.put(scene.declare())
  await scene.pass()
  scene.outbox.isHeld = false
  await scene.outbox.put(bill({ generation: 2 }))
  await scene.pass()
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
  expect([sender.depth, sender.ledger.told('u1')]).toEqual([undefined, undefined])
})

test('a replica that was stopped knows nothing once its lease may be over', async () => {
  const sender = scene.sender()
  await scene.outbox.put(scene.declare())
  await scene.pass()
  expect(sender.ledger.told('u1')).toBeDefined()
  // At once, as after SIGCONT: no round has run yet.
  scene.clock.advance(7_000)
  expect(sender.ledger.told('u1')).toBeUndefined()
})

test('bills wait while the database is away, report the reason once, and heal by themselves', async () => {
  const sender = scene.sender()
  await scene.pass()
  scene.trouble = away
  await scene.outbox.put(scene.declare())
  await scene.pass(20_000)
  expect(sender.ledger.told('u1')).toMatchObject({ is: 'not', reason: 'Unreachable', message: away.message })
  expect(scene.told).toEqual(['blue'])
  expect(scene.outcomes.length).toBeGreaterThan(3)
  expect(scene.log.messages.filter(text => text.includes('database'))).toHaveLength(1)
  scene.trouble = undefined
  await scene.pass(6_000)
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
  expect([scene.told, sender.ledger.told('u1')?.is]).toEqual([['blue', 'blue'], 'written'])
})

test('the reported reason lasts while the database is away for long, also for bills that come later', async () => {
  const sender = scene.sender({ leaseTtlMs: 3_000 })
  await scene.pass()
  scene.trouble = away
  await scene.outbox.put(scene.declare())
  await scene.pass(20_000)
  await scene.outbox.put(scene.declare({ uid: 'u2', name: 'green' }))
  for (let i = 0; i < 100; i += 1) {
    await scene.pass(100)
    expect(sender.ledger.told('u1')).toMatchObject({ reason: 'Unreachable' })
  }
  expect(sender.ledger.told('u2')).toMatchObject({ reason: 'Unreachable' })
})

test('the ledger answers for each reported bill, however long a round takes', async () => {
  const believed: (string | undefined)[] = []
  const write = async (bills: readonly Bill[]) => {
    scene.clock.advance(3_000)
    return scene.inner.write(bills)
  }
  const onTold = (name: string) => void believed.push(sender.ledger.told(name.replace('t', 'u'))?.is)
  for (const each of crowd(450)) await scene.outbox.put(scene.declare(each))
  const sender: Sender = scene.sender({ table: { ...scene.table, write }, onTold })
  await scene.pass(5_000)
  expect(believed).toEqual(Array.from({ length: 450 }, () => 'written'))
})

test('the first of alternating reasons is reported', async () => {
  const sender = scene.sender()
  await scene.pass()
  await scene.outbox.put(scene.declare())
  for (let i = 0; i < 10; i += 1) {
    scene.trouble = i % 2 === 0 ? away : new TableTrouble('TimedOut', 'late')
    await scene.pass(5_000)
  }
  expect([sender.ledger.told('u1'), scene.told]).toMatchObject([{ reason: 'Unreachable' }, ['blue']])
  expect(scene.outcomes).toContain('TimedOut')
})

test('bills before a trouble are done', async () => {
  const write = async (bills: readonly Bill[]) => {
    const isFirst = bills[0]!.uid === 'u0'
    if (!isFirst) throw away
    return scene.inner.write(bills.slice(0, 1))
  }
  scene.sender({ table: { ...scene.table, write } })
  for (const each of crowd(3)) await scene.outbox.put(scene.declare(each))
  await scene.pass()
  expect([...scene.outbox.bills.keys()]).toEqual(['u1:1.0', 'u2:1.0'])
})

test('a bill whose row is locked is tried again soon, and raises no alarm', async () => {
  let isLocked = true
  const write = async (bills: readonly Bill[]) =>
    isLocked ? bills.map(() => new Refused('locked', 'TimedOut')) : scene.inner.write(bills)
  const sender = scene.sender({ table: { ...scene.table, write } })
  await scene.outbox.put(scene.declare())
  await scene.pass()
  expect([sender.ledger.told('u1'), scene.outcomes]).toMatchObject([{ is: 'not', reason: 'TimedOut' }, ['TimedOut']])
  isLocked = false
  await scene.pass(6_000)
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
})

test('a late bill of an LNamespace that is gone raises no alarm', async () => {
  await scene.inner.write([end()])
  scene.sender()
  await scene.outbox.put(bill())
  await scene.pass()
  expect([scene.outcomes, scene.log.messages.filter(text => text.startsWith('error'))]).toEqual([['blue older'], []])
})

test('a bill is reported again after a statement that outlasts the lease', async () => {
  scene.sender()
  await scene.outbox.put(scene.declare())
  await scene.pass()
  scene.told.splice(0)
  // A statement takes longer than a lease is known to last.
  scene.clock.advance(8_000)
  await scene.pass()
  expect(scene.told).toContain('blue')
})

test('a bill that is refused keeps no other from being sent, and is tried again after a minute', async () => {
  const sender = scene.sender()
  scene.refuses = 'blue'
  await scene.outbox.put(scene.declare())
  await scene.outbox.put(scene.declare({ uid: 'u2', name: 'green' }))
  await scene.pass(10_000)
  expect(scene.outcomes.filter(each => each !== 'green written')).toEqual(['blue refused'])
  expect(sender.ledger.told('u1')).toMatchObject({ is: 'not', reason: 'Refused' })
  scene.refuses = undefined
  await scene.pass(60_000)
  expect(await scene.rows()).toEqual(['u1 1.0 42', 'u2 1.0 42'])
})

test('what Redis has lost is found at once', async () => {
  scene.sender()
  await scene.pass()
  scene.declare()
  scene.declare({ uid: 'u2', name: 'green' })
  scene.outbox.lose()
  await scene.pass()
  expect(await scene.rows()).toEqual(['u1 1.0 42', 'u2 1.0 42'])
  expect(scene.compared).toContain('different')
})

test('a compare finds what others changed, and what has other defaults, without a new generation', async () => {
  scene.sender()
  await scene.outbox.put(scene.declare())
  await scene.pass()
  scene.declare({ billing: { 'cost-center': '43' } })
  await scene.pass(400_000)
  expect(await scene.rows()).toEqual(['u1 1.1 43'])
  await scene.pass(400_000)
  expect(await scene.rows()).toEqual(['u1 1.1 43'])
})

test('a compare corrects what a cluster that was restored from a backup says', async () => {
  scene.declare({ generation: 2, billing: { a: 'restored' } })
  await scene.inner.write([bill({ generation: 9 })])
  scene.sender()
  await scene.pass()
  expect(await scene.rows()).toEqual(['u1 9.1 restored'])
})

test('a compare closes what is gone, once the API server itself says so', async () => {
  await scene.inner.write([bill(), bill({ uid: 'u2', name: 'green' })])
  scene.sender({ isGone: async ({ uid }) => uid === 'u2' })
  await scene.pass()
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
})

test('a table that cannot be read keeps no bill from being sent', async () => {
  let reads = 0
  const read = async () => {
    reads += 1
    throw new TableTrouble('Refused', 'too many bytes')
  }
  scene.sender({ table: { ...scene.table, read } })
  await scene.pass(20_000)
  await scene.outbox.put(scene.declare())
  await scene.pass()
  expect([reads, await scene.rows()]).toEqual([1, ['u1 1.0 42']])
})

const crowd = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => bill({ uid: `u${i + from}`, name: `t${i + from}` }))

test('a compare ends nothing when it would end most of what stands, and says so', async () => {
  await scene.inner.write(crowd(21))
  for (const each of crowd(10)) scene.declare(each)
  scene.declare({ uid: 'new', name: 'new' })
  scene.sender()
  await scene.pass()
  expect(await scene.rows()).toHaveLength(22)
  expect(scene.compared).toEqual(['failed'])
  expect(scene.log.messages.filter(text => text.includes('ends none'))).toHaveLength(1)
  // The share falls.
  for (const each of crowd(5, 10)) scene.declare(each)
  await scene.pass(400_000)
  expect(await scene.rows()).toHaveLength(16)
})

test('a compare ends half of what stands', async () => {
  await scene.inner.write(crowd(22))
  for (const each of crowd(11)) scene.declare(each)
  scene.sender()
  await scene.pass()
  expect(await scene.rows()).toHaveLength(11)
})

test('a compare leaves out what no LNamespace can be', async () => {
  await scene.inner.write([bill({ uid: 'a b', name: 'odd' }), bill({ uid: 'u7', name: '' }), bill({ uid: 'u9' })])
  scene.sender()
  await scene.pass()
  expect(await scene.rows()).toEqual(['a b 1.0 42', 'u7 1.0 42'])
  expect(scene.log.messages).toContain('error: the table of bills has heads of no LNamespace')
  expect(scene.compared).toContain('different')
})

test('what a full outbox lacks is found when there is room', async () => {
  scene.outbox.isFull = true
  for (const each of crowd(100)) scene.declare(each)
  scene.sender()
  await scene.pass()
  expect([await scene.rows(), scene.compared.includes('different')]).toEqual([[], false])
  // Each compare ends with the first one that finds no room.
  expect(scene.outbox.refusals).toBeLessThan(100)
  scene.outbox.isFull = false
  await scene.pass(6_000)
  expect(await scene.rows()).toHaveLength(100)
})

test('an end that a watch shows is sent at once, if it is true', async () => {
  const sender = scene.sender()
  await scene.outbox.put(scene.declare())
  await scene.outbox.put(scene.declare({ uid: 'u2', name: 'green' }))
  await scene.pass()
  scene.cluster.delete('u1')
  sender.gone({ uid: 'u1', name: 'blue' })
  sender.gone({ uid: 'u2', name: 'green' })
  await scene.pass()
  expect(await scene.rows()).toEqual(['u2 1.0 42'])
})

test('a compare reads the table before it lists, so it undoes nothing that is written meanwhile', async () => {
  await scene.inner.write([bill()])
  const list = async () => {
    const listed = new Map([['u1', { entry: bill(), isBilled: true }]])
    await scene.inner.write([bill({ generation: 2, billing: { a: 'later' } })])
    return listed
  }
  scene.sender({ list })
  await scene.pass()
  expect(await scene.rows()).toEqual(['u1 2.0 later'])
})

test('a closed LNamespace that lives again says so', async () => {
  await scene.inner.write([end()])
  const sender = scene.sender()
  scene.declare()
  await scene.pass()
  expect(sender.ledger.told('u1')).toMatchObject({ is: 'not', reason: 'Closed' })
  expect(scene.log.messages).toContain('error: the table has the end of this LNamespace, which is final')
})

test('bills are sent while the API server is silent, and compared when it answers', async () => {
  scene.apiTrouble = new RetryLater('the API server does not answer')
  scene.sender()
  await scene.outbox.put(bill())
  await scene.pass(5_000)
  expect(await scene.rows()).toEqual(['u1 1.0 42'])
  expect(scene.compared).not.toContain('different')
  scene.apiTrouble = undefined
  await scene.pass(6_000)
  expect(await scene.rows()).toEqual([])
})

test('nothing is compared while a requester may be forged, and nothing at all where another installation serves', async () => {
  scene.unguarded = 'no policies'
  const sender = scene.sender()
  scene.declare()
  await scene.outbox.put(scene.declare({ uid: 'u2', name: 'green' }))
  await scene.pass()
  expect(await scene.rows()).toEqual(['u2 1.0 42'])
  scene.isElsewhere = true
  await scene.outbox.put(scene.declare({ uid: 'u3', name: 'red' }))
  await scene.pass()
  expect([await scene.rows(), sender.depth]).toEqual([['u2 1.0 42'], undefined])
  scene.isElsewhere = false
  scene.unguarded = undefined
  await scene.pass(5_000)
  expect(await scene.rows()).toHaveLength(3)
})
