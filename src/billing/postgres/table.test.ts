import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { bill, end } from '../../../test/kit/billing/bills.ts'
import { describeTable } from '../../../test/kit/billing/contract.ts'
import { billTable, type OwnPostgres, ownPostgres, startLimitMs } from '../../../test/kit/billing/postgres.ts'
import type { PostgresPlace } from '../places.ts'
import { PostgresTable } from './table.ts'

let own: OwnPostgres
beforeAll(async () => {
  own = await ownPostgres()
}, startLimitMs)
const opened: PostgresTable[] = []
const holders: { end(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of holders.splice(0)) await each.end()
  for (const table of opened.splice(0)) await table.rest()
})
afterAll(() => own.stop())

const signal = new AbortController().signal

function open(place: Partial<PostgresPlace> = {}, timeoutMs = 5_000, log = true, pageHeads?: number) {
  const { host, port, database, user } = own.postgres
  const at: PostgresPlace = { host, port, database, user, password: user, tls: false, ...place }
  const table = new PostgresTable({
    ...{ place: at, schema: 'public', table: billTable, log, cluster: 'test', timeoutMs },
    ...(pageHeads !== undefined && { pageHeads }),
  })
  opened.push(table)
  return table
}

const named = (statement: string) => statement.replace(/\bT(_head|_log)?\b/g, (_, end = '') => `"${billTable}${end}"`)
const ask = <Row extends object>(statement: string) => own.postgres.query<Row>(named(statement))
const empty = () => ask('TRUNCATE T, T_head, T_log')

describeTable(
  'the table of bills in PostgreSQL',
  async () => {
    await empty()
    return {
      table: open(),
      rows: () => ask('SELECT ns_uid, ns_name, name, value FROM T'),
      log: () => ask('SELECT ns_uid, generation::int, revision::int, closed FROM T_log ORDER BY logged_at'),
      change: ask,
    }
  },
  15,
)

test('a writer that waited for another sees what that one has written', async () => {
  await empty()
  const [first, second] = [open(), open()]
  await first.write([bill({ billing: { a: '1', b: '2' } })], signal)
  const all = Array.from({ length: 20 }, (_, i) => bill({ generation: i + 2, billing: { [`g${i + 2}`]: 'x' } }))
  await Promise.all([first.write(all, signal), second.write([...all].reverse(), signal)])
  const rows = await ask<{ name: string }>('SELECT name FROM T')
  expect(rows).toEqual([{ name: 'g21' }])
})

test('a writer who sleeps in its transaction is ended, and keeps the row from nobody for longer', async () => {
  await empty()
  const table = open({}, 1_000)
  await table.write([bill()], signal)
  const { default: pg } = await import('pg')
  const { host, port, database, user } = own.postgres
  const sleeper = new pg.Client({ host, port, database, user, password: user })
  sleeper.on('error', () => {})
  await sleeper.connect()
  await sleeper.query('BEGIN; SET LOCAL idle_in_transaction_session_timeout = 300')
  await sleeper.query(named("UPDATE T_head SET generation = 1 WHERE ns_uid = 'u1'"))
  const ended = new Promise(resolve => sleeper.once('end', resolve))
  expect(await table.write([bill({ generation: 2 })], signal)).toEqual(['written'])
  await ended
})

/** Somebody who holds a lock until the test ends. */
async function holder(statement: string): Promise<() => Promise<unknown>> {
  const { default: pg } = await import('pg')
  const { host, port, database, user } = own.postgres
  const client = new pg.Client({ host, port, database, user, password: user })
  await client.connect()
  await client.query(named(`BEGIN; ${statement}`))
  holders.push(client)
  return () => client.query('ROLLBACK')
}

test('a bill whose row is locked is given up in time, and keeps no other from being written', async () => {
  await empty()
  const table = open({}, 600)
  await table.write([bill()], signal)
  const release = await holder("UPDATE T_head SET generation = 1 WHERE ns_uid = 'u1'")
  const bills = [bill({ generation: 2 }), bill({ uid: 'u2', name: 'green' })]
  const outcomes = await table.write(bills, signal)
  const locked = { reason: 'TimedOut', detail: expect.stringContaining('55P03') }
  expect(outcomes).toEqual([expect.objectContaining(locked), 'written'])
  await release()
  expect(await table.write(bills, signal)).toEqual(['written', 'same'])
})

test('a table that is locked as a whole is not waited for by each bill', async () => {
  await empty()
  await holder('LOCK TABLE T_head IN SHARE MODE')
  const many = Array.from({ length: 9 }, (_, i) => bill({ uid: `u${i}` }))
  expect(await open({}, 300).write(many, signal)).toHaveLength(3)
})

test('a statement that waits is given up when the signal says so', async () => {
  await empty()
  const table = open({}, 30_000)
  await table.write([bill()], signal)
  await holder("UPDATE T_head SET generation = 1 WHERE ns_uid = 'u1'")
  const controller = new AbortController()
  const asked = table.write([bill({ generation: 2 })], controller.signal).then(String, error => error)
  const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  while ((await ask(waits)).length === 0);
  controller.abort(new Error('the end'))
  expect(await asked).toMatchObject({ message: 'the end' })
})

test('read takes all pages', async () => {
  await empty()
  const table = open({}, 5_000, true, 3)
  const many = Array.from({ length: 10 }, (_, i) => bill({ uid: `u${i}`, billing: { a: '1', b: `${i}` } }))
  await table.write(many, signal)
  expect((await table.read(signal)).get('u9')?.billing).toEqual({ a: '1', b: '9' })
  expect(await table.read(signal)).toHaveProperty('size', 10)
})

test.each([
  ['the password is wrong', { password: 'wrong' }, 'AccessDenied'],
  ['no password is given', { password: undefined }, 'AccessDenied'],
  ['the file of the password is gone', { passwordFile: '/nowhere/password' }, 'AccessDenied'],
  ['the database is another', { database: 'none' }, 'TableMissing'],
  ['nothing listens', { port: 1 }, 'Unreachable'],
  ['the server has no TLS', { tls: true }, 'Unreachable'],
] as const)('write tells why when %s', async (_, place, reason) => {
  const error = await open(place)
    .write([bill()], signal)
    .then(String, each => each)
  expect(error).toMatchObject({ name: 'TableTrouble', reason })
  expect(`${error.message} ${error.detail}`).not.toMatch(/wrong(?!-)|skylab'/)
})

test('write needs no right but those that an operator grants, and says which table is missing', async () => {
  await empty()
  await ask('REVOKE INSERT ON T_log FROM skylab')
  await expect(open().write([bill()], signal)).rejects.toMatchObject({ reason: 'AccessDenied' })
  expect(await ask('SELECT 1 FROM T_head')).toEqual([])
  expect(await open({}, 5_000, false).write([bill()], signal)).toEqual(['written'])
  await ask('GRANT INSERT ON T_log TO skylab')
  await ask('ALTER TABLE T_log RENAME TO moved')
  await expect(open().write([bill({ generation: 2 })], signal)).rejects.toMatchObject({ reason: 'TableMissing' })
  await ask('ALTER TABLE moved RENAME TO "T_log"'.replace('"T_log"', 'T_log'))
})

test('a bill that a narrower table refuses keeps no other from being written', async () => {
  await empty()
  await ask('ALTER TABLE T ALTER COLUMN value TYPE varchar(3)')
  const bills = [bill(), bill({ uid: 'u2', billing: { a: 'too long' } }), bill({ uid: 'u3' })]
  const outcomes = await open().write(bills, signal)
  expect(outcomes).toEqual([
    'written',
    expect.objectContaining({ detail: expect.stringContaining('22001') }),
    'written',
  ])
  expect(await ask('SELECT ns_uid FROM T_head ORDER BY 1')).toEqual([{ ns_uid: 'u1' }, { ns_uid: 'u3' }])
  await ask('ALTER TABLE T ALTER COLUMN value TYPE text')
})

test.each(['P0001', '44000'])('a bill that a trigger refuses by %s keeps no other from being written', async state => {
  await empty()
  await ask(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF NEW.ns_uid = 'u2' THEN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END IF; RETURN NEW; END $$`)
  await ask('CREATE TRIGGER refusing BEFORE INSERT ON T_head FOR EACH ROW EXECUTE FUNCTION refuse()')
  const outcomes = await open().write([bill(), bill({ uid: 'u2' }), bill({ uid: 'u3' })], signal)
  expect(outcomes).toMatchObject(['written', { reason: 'Refused', detail: expect.stringContaining(state) }, 'written'])
  await ask('DROP TRIGGER refusing ON T_head')
})

test('write answers the bills before a trouble', async () => {
  await empty()
  await ask(`CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
IF NEW.ns_uid = 'u2' THEN RAISE EXCEPTION 'no' USING ERRCODE = '53100'; END IF; RETURN NEW; END $$`)
  await ask('CREATE TRIGGER troubling BEFORE INSERT ON T_head FOR EACH ROW EXECUTE FUNCTION trouble()')
  const table = open()
  expect(await table.write([bill(), bill({ uid: 'u2' }), bill({ uid: 'u3' })], signal)).toEqual(['written'])
  await expect(table.write([bill({ uid: 'u2' })], signal)).rejects.toMatchObject({ reason: 'Unreachable' })
  await ask('DROP TRIGGER troubling ON T_head')
})

test('write goes on after the server was killed, and nothing is half written', async () => {
  await empty()
  const table = open()
  await table.write([bill()], signal)
  await own.postgres.kill()
  await expect(table.write([end()], signal)).rejects.toMatchObject({ reason: 'Unreachable' })
  await own.postgres.start()
  expect(await table.write([bill({ generation: 2, billing: { b: '1' } })], signal)).toEqual(['written'])
  expect(await ask('SELECT name FROM T')).toEqual([{ name: 'b' }])
})
