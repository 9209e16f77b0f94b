/** The outbox of bills: nothing older is put, one replica at a time reads it, and what was lost is noticed. */
import { expect, test } from 'vitest'
import { BillStore, mostWaiting } from '../../../src/store/bills.ts'
import { bill, end } from '../../kit/billing/bills.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
const bills = () => new BillStore(store().connection, store().keys)
const lease = () => store().keys.reconcileLease('billing:')

/** A holder of the lease. */
async function held(token = 'mine'): Promise<[string, string]> {
  await store().redis.set(lease(), token)
  return [lease(), token]
}

test('put leaves a bill once, and nothing that is older than what was put', async () => {
  expect(await bills().put(bill({ generation: 2 }))).toBe('put')
  expect(await bills().put(bill({ generation: 2 }))).toBe('same')
  expect(await bills().put(bill({ generation: 1 }))).toBe('older')
  expect(await bills().put(bill({ generation: 2, revision: 1 }))).toBe('put')
  expect(await bills().put(bill({ uid: 'u2' }))).toBe('put')
  const taken = await bills().take(...(await held()))
  expect(taken!.bills.map(({ field }) => field)).toEqual(['u1:2', 'u1:2.1', 'u2:1'])
  expect(taken).toMatchObject({ depth: 3, complete: false })
})

test('put leaves nothing after the end', async () => {
  await bills().put(bill())
  expect(await bills().put(end())).toBe('put')
  expect(await bills().put(bill({ generation: 9 }))).toBe('older')
  expect(await bills().put(end())).toBe('same')
  const taken = await bills().take(...(await held()))
  expect(taken!.bills.map(({ field }) => field)).toEqual(['u1:1', 'u1:end'])
})

test('end forgets a bill that was answered, and not another one of its place', async () => {
  await bills().put(bill())
  const at = await held()
  const [waiting] = (await bills().take(...at))!.bills
  await bills().end(waiting!)
  expect(await bills().take(...at)).toMatchObject({ bills: [], depth: 0, oldestMs: 0 })
  // It was sent: only who has read the table puts it again.
  expect(await bills().put(bill())).toBe('same')
  expect(await bills().put(bill(), true)).toBe('put')
  await bills().end(waiting!)
  expect((await bills().take(...at))!.depth).toBe(1)
})

test('all of an LNamespace is forgotten once its end was answered', async () => {
  await bills().put(end())
  const at = await held()
  for (const waiting of (await bills().take(...at))!.bills) await bills().end(waiting)
  expect(await store().redis.exists(store().keys.bills, store().keys.billMarks)).toBe(0)
})

test('put leaves nothing more when the outbox is full, and a compare is due and cannot end', async () => {
  const few = new BillStore(store().connection, store().keys, 3)
  const at = await held()
  await few.mark(...at, 'begin')
  await few.mark(...at, 'end')
  await few.mark(...at, 'begin')
  expect(await few.put(bill())).toBe('put')
  expect(await few.put(bill({ uid: 'u2' }))).toBe('full')
  expect(await few.mark(...at, 'end')).toBe(false)
  expect(await few.take(...at)).toMatchObject({ depth: 1, complete: false })
  // What it lacks has left no mark, so it can be put once there is room.
  for (const waiting of (await few.take(...at))!.bills) await few.end(waiting)
  expect(await few.put(bill({ uid: 'u2' }))).toBe('put')
})

test('take gives nothing to whoever has not the lease', async () => {
  await bills().put(bill())
  await held('mine')
  expect(await bills().take(lease(), 'yours')).toBeNull()
  expect(await bills().mark(lease(), 'yours', 'begin')).toBe(false)
})

test('some bills of one LNamespace wait at most, the latest of them', async () => {
  for (let generation = 1; generation <= 9; generation += 1) await bills().put(bill({ generation }))
  const taken = await bills().take(...(await held()))
  expect(taken!.bills.map(({ field }) => field)).toEqual(['u1:6', 'u1:7', 'u1:8', 'u1:9'])
  expect(taken!.bills).toHaveLength(mostWaiting)
})

test('the outbox is complete after a compare, and not when it was lost in its middle', async () => {
  const at = await held()
  expect(await bills().mark(...at, 'begin')).toBe(true)
  expect(await bills().mark(...at, 'end')).toBe(true)
  expect(await bills().take(...at)).toMatchObject({ complete: true, depth: 0 })
  expect(await bills().mark(...at, 'begin')).toBe(true)
  await store().redis.del(store().keys.bills)
  expect(await bills().mark(...at, 'end')).toBe(false)
  expect(await bills().take(...at)).toMatchObject({ complete: false })
})

test('what cannot be read is thrown away', async () => {
  await store().redis.hset(store().keys.bills, { 'u1:1': 'rubbish', 'u2:1': '1 {"uid":"u2"}' })
  const at = await held()
  expect(await bills().take(...at)).toMatchObject({ bills: [], depth: 2 })
  expect(await bills().take(...at)).toMatchObject({ bills: [], depth: 0 })
})

test('a late end and a late bill of an older Redis take nothing away', async () => {
  await bills().put(bill({ generation: 3 }))
  await store().redis.del(store().keys.billMarks)
  expect(await bills().put(bill({ generation: 2 }))).toBe('put')
  const taken = await bills().take(...(await held()))
  // In order, so that the table takes both.
  expect(taken!.bills.map(({ field }) => field)).toEqual(['u1:2', 'u1:3'])
})
