import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { billTable, type OwnPostgres, ownPostgres, startLimitMs } from '../../../test/kit/billing/postgres.ts'
import type { Amount } from '../amount.ts'
import type { PostgresPlace } from '../places.ts'
import { PostgresAmounts } from './amounts.ts'
import { amountsDefinitionOf } from './statements.ts'

/** It has no right to any other table. */
const writer = 'skylab_amounts'
const machines = `${billTable}_machines`

let own: OwnPostgres
beforeAll(async () => {
  own = await ownPostgres()
  await own.postgres.query(`CREATE ROLE ${writer} LOGIN PASSWORD '${writer}'`)
  for (const statement of amountsDefinitionOf('public', billTable, writer)) await own.postgres.query(statement)
}, startLimitMs)
const opened: PostgresAmounts[] = []
beforeEach(() => own.postgres.query(`TRUNCATE ${machines}`))
afterEach(() => {
  for (const table of opened.splice(0)) table.rest()
})
afterAll(() => own.stop())

const signal = new AbortController().signal

function open(place: Partial<PostgresPlace> = {}, timeoutMs = 5_000): PostgresAmounts {
  const { host, port, database } = own.postgres
  const at: PostgresPlace = { host, port, database, user: writer, password: writer, tls: false, ...place }
  const table = new PostgresAmounts({ place: at, schema: 'public', table: billTable, timeoutMs })
  opened.push(table)
  return table
}

const amount = (more: Partial<Amount> = {}): Amount => ({
  ...{ container: 'zzzzz-dz642-1', tenant: 'blue', instanceType: 'small', pricePerHour: 0.1 },
  ...{ startedMs: 1_000, finishedMs: 1_801_000, cost: 0.05, ...more },
})

const lines = () =>
  own.postgres.query(
    `SELECT container, ns_name, instance_type, price_per_hour, cost, extract(epoch FROM finished_at - started_at)::int AS seconds
FROM ${machines} ORDER BY 1`,
  )

test('add writes what a container has cost', async () => {
  expect(await open().add([amount()], signal)).toEqual([])
  expect(await lines()).toEqual([
    {
      ...{ container: 'zzzzz-dz642-1', ns_name: 'blue', instance_type: 'small' },
      ...{ price_per_hour: 0.1, cost: 0.05, seconds: 1800 },
    },
  ])
})

test('add leaves the line of a container as it is, whatever amount it gets', async () => {
  const [first, second] = [open(), open()]
  await first.add([amount()], signal)
  const more = [amount({ cost: 9 }), amount({ container: 'zzzzz-dz642-2', cost: 1 }), amount({ cost: 8 })]
  await Promise.all([first.add(more, signal), second.add(more, signal)])
  expect((await lines()).map(line => (line as { cost: number }).cost)).toEqual([0.05, 1])
})

test('add leaves out what the database takes in no case, and writes the others', async () => {
  const odd = amount({ container: 'odd\0', cost: 1 })
  expect(await open().add([amount(), odd, amount({ container: 'zzzzz-dz642-2' })], signal)).toEqual([odd])
  expect(await lines()).toHaveLength(2)
})

test.each([
  ['the password is wrong', { password: 'wrong' }, 'AccessDenied'],
  ['the database is another', { database: 'none' }, 'TableMissing'],
  ['nothing listens', { port: 1 }, 'Unreachable'],
])('add tells the trouble when %s', async (_, place, reason) => {
  await expect(open(place).add([amount()], signal)).rejects.toMatchObject({ reason })
})

test('add tells that a lock is not got in time, and writes when it is free', async () => {
  const { default: pg } = await import('pg')
  const { host, port, database, user } = own.postgres
  await own.postgres.query(`GRANT UPDATE ON ${machines} TO ${user}`)
  const holder = new pg.Client({ host, port, database, user, password: user })
  await holder.connect()
  try {
    await holder.query(`BEGIN; LOCK TABLE ${machines}`)
    await expect(open({}, 600).add([amount()], signal)).rejects.toMatchObject({ reason: 'TimedOut' })
    await holder.query('ROLLBACK')
  } finally {
    await holder.end()
  }
  await open().add([amount()], signal)
  expect(await lines()).toHaveLength(1)
})
