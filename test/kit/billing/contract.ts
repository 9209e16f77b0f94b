/** What every table of bills does, whatever its database. */
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Bill, type BillEntry, type Billing, isBefore, isEnd } from '../../../src/base/bill.ts'
import type { BillTable } from '../../../src/billing/table.ts'
import { bill, end } from './bills.ts'

/** A table of one test, and a look at what is in it that does not pass through it. */
export interface TableOfTest {
  readonly table: BillTable
  readonly rows: () => Promise<readonly { ns_uid: string; ns_name: string; name: string; value: string }[]>
  readonly log: () => Promise<readonly { ns_uid: string; generation: number; revision: number; closed: boolean }[]>
  /** Runs a statement that both SQLs know: `T`, `T_head` and `T_log` are the tables. */
  readonly change: (statement: string) => Promise<unknown>
}

const signal = new AbortController().signal
const sorted = <T>(values: readonly T[]): T[] =>
  [...values].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))

const billingIn = (rows: Awaited<ReturnType<TableOfTest['rows']>>, uid: string): Billing =>
  Object.fromEntries(rows.filter(row => row.ns_uid === uid).map(row => [row.name, row.value]))

/**
 * @param open each call has the same database, emptied
 * @param runs of the property, whose statements are slow in some databases
 */
export function describeTable(name: string, open: () => Promise<TableOfTest>, runs: number): void {
  describe(name, () => {
    let of: TableOfTest
    beforeEach(async () => {
      of = await open()
    })
    const write = async (...bills: Bill[]) => {
      const outcomes = []
      for (const each of bills) outcomes.push(...(await of.table.write([each], signal)))
      return outcomes
    }
    const billingOf = async (uid: string): Promise<Billing> => billingIn(await of.rows(), uid)

    test('write keeps the rows, the head and a line of the log', async () => {
      expect(await write(bill({ billing: { a: '1', b: '2' } }))).toEqual(['written'])
      expect(sorted(await of.rows())).toEqual([
        { ns_uid: 'u1', ns_name: 'blue', name: 'a', value: '1' },
        { ns_uid: 'u1', ns_name: 'blue', name: 'b', value: '2' },
      ])
      expect(await of.log()).toEqual([{ ns_uid: 'u1', generation: 1, revision: 0, closed: false }])
      expect(await of.table.read(signal)).toEqual(
        new Map([['u1', { name: 'blue', generation: 1, revision: 0, billing: { a: '1', b: '2' } }]]),
      )
    })

    test('write changes, adds and removes rows when a later generation comes', async () => {
      await write(bill({ billing: { a: '1', b: '2' } }), bill({ uid: 'u2', name: 'green' }))
      expect(await write(bill({ generation: 2, billing: { b: '3', c: '4' } }))).toEqual(['written'])
      expect(await billingOf('u1')).toEqual({ b: '3', c: '4' })
      expect(await billingOf('u2')).toEqual({ 'cost-center': '42' })
    })

    test('write keeps no row when nothing is billed', async () => {
      await write(bill(), bill({ generation: 2, billing: {} }))
      expect(await billingOf('u1')).toEqual({})
      expect(await of.table.read(signal)).toEqual(
        new Map([['u1', { name: 'blue', generation: 2, revision: 0, billing: {} }]]),
      )
    })

    test('write changes nothing when a later generation, or a later revision of the same, stands', async () => {
      const later = bill({ generation: 3, revision: 1, billing: { a: '3' } })
      await write(later)
      expect(await write(bill({ generation: 2, revision: 9 }), bill({ generation: 3 }))).toEqual(['older', 'older'])
      expect(await write(later)).toEqual(['same'])
      expect(await billingOf('u1')).toEqual({ a: '3' })
      expect(await of.log()).toHaveLength(1)
    })

    test('an end removes all rows, and is final', async () => {
      await write(bill())
      expect(await write(end())).toEqual(['written'])
      expect(await write(bill({ generation: 9 }), end())).toEqual(['closed', 'same'])
      expect(await billingOf('u1')).toEqual({})
      expect(sorted(await of.log())).toEqual([
        { ns_uid: 'u1', generation: 1, revision: 0, closed: false },
        { ns_uid: 'u1', generation: 1, revision: 0, closed: true },
      ])
      expect(await of.table.read(signal)).toEqual(new Map())
    })

    test('an end before any bill keeps late ones out', async () => {
      expect(await write(end(), bill())).toEqual(['written', 'closed'])
      expect(await of.rows()).toEqual([])
    })

    test('write takes many bills at once', async () => {
      const many = Array.from({ length: 30 }, (_, i) => bill({ uid: `u${i}`, name: `t${i}`, billing: { n: `${i}` } }))
      expect(await of.table.write(many, signal)).toEqual(many.map(() => 'written'))
      const mixed = [bill({ uid: 'u3', generation: 1 }), end({ uid: 'u4' }), bill({ uid: 'u5', generation: 2 })]
      expect(await of.table.write(mixed, signal)).toEqual(['same', 'written', 'written'])
      expect(await of.table.read(signal)).toHaveProperty('size', 29)
    })

    test.each([
      ['a quote', "Robert'); DROP TABLE T_head; --"],
      ['double quotes and backslashes', String.raw`"\'; \0 %s $1 {x}`],
      ['other alphabets and signs', 'Müller 億 🧾 ×2'],
      ['nothing', ''],
      ['a long text', 'ä'.repeat(256)],
    ])('write keeps a value as it is when it has %s', async (_, value) => {
      expect(await write(bill({ billing: { 'a.b_c-d': value } }))).toEqual(['written'])
      expect(await billingOf('u1')).toEqual({ 'a.b_c-d': value })
    })

    test('read shows what was changed by others, and a later revision corrects it', async () => {
      await write(bill({ billing: { a: '1', b: '2' } }))
      await of.change("DELETE FROM T WHERE name = 'b'")
      await of.change("UPDATE T SET value = 'mine' WHERE name = 'a'")
      expect((await of.table.read(signal)).get('u1')?.billing).toEqual({ a: 'mine' })
      expect(await write(bill({ revision: 1, billing: { a: '1', b: '2' } }))).toEqual(['written'])
      expect(await billingOf('u1')).toEqual({ a: '1', b: '2' })
    })

    test('read shows nothing of another cluster', async () => {
      await write(bill())
      await of.change("UPDATE T_head SET cluster = 'other' WHERE ns_uid = 'u1'")
      expect(await of.table.read(signal)).toEqual(new Map())
    })

    test('any order of bills with duplicates ends with the rows of the highest, and a closed one stays closed', async () => {
      let number = 0
      const step = fc.record({
        uid: fc.nat(2),
        generation: fc.integer({ min: 1, max: 4 }),
        revision: fc.nat(1),
        ends: fc.nat(9),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async steps => {
          number += 1
          const bills = steps.map(({ uid, generation, revision, ends }): Bill => {
            const of = `p${number}-${uid}`
            if (ends === 0) return end({ uid: of })
            return bill({ uid: of, generation, revision, billing: { [`g${generation}`]: `${revision}` } })
          })
          await write(...bills)
          const [rows, log] = [await of.rows(), await of.log()]
          for (const uid of new Set(bills.map(each => each.uid))) {
            const own = bills.filter(each => each.uid === uid)
            const highest = own
              .filter((each): each is BillEntry => !isEnd(each))
              .reduce<BillEntry | undefined>((best, each) => (best && !isBefore(best, each) ? best : each), undefined)
            const expected = own.some(isEnd) || !highest ? {} : highest.billing
            expect(billingIn(rows, uid)).toEqual(expected)
            const lines = log.filter(line => line.ns_uid === uid).map(line => JSON.stringify(line))
            expect(new Set(lines).size).toBe(lines.length)
          }
        }),
        { numRuns: runs },
      )
    })
  })
}
