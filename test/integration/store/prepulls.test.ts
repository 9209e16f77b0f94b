/** The records of prepulling, and their writer. */
import { beforeEach, expect, test } from 'vitest'
import { type PrepullRecords, PrepullStore, type PullFailure } from '../../../src/store/prepulls.ts'
import { noRecords } from '../../kit/images/cluster.ts'
import { useStore } from '../../kit/store/store.ts'

const store = useStore()
let prepulls: PrepullStore
const token = 'mine'

beforeEach(async () => {
  prepulls = new PrepullStore(store().connection, store().keys)
  await store().redis.set(prepulls.lease, token)
})

const failure: PullFailure = {
  attempts: 2,
  nextMs: 1_790_000_000_123,
  error: 'one: “it” does not exist\n\ud83d',
  nodes: ['a', 'b'],
  set: 'uid',
}
const records: PrepullRecords = {
  prepulled: new Map([
    [
      'registry:5000/some/lab@sha256:00',
      new Map([
        ['6f1c2c1e-0000-4000-8000-000000000001', false],
        ['6f1c2c1e-0000-4000-8000-000000000002', true],
      ]),
    ],
    ['registry:5000/some/lab:tag', new Map([['a', true]])],
  ]),
  failures: new Map([['registry:5000/some/lab@sha256:01', failure]]),
}

test('every replica reads what was written, with Redis’ time', async () => {
  const before = Date.now()
  expect(await prepulls.write(token, noRecords, records)).toBe(true)
  const reading = await prepulls.read()
  expect(reading.held).toBe(false)
  expect(Math.abs(reading.nowMs - before)).toBeLessThan(60_000)
  expect(reading.records.prepulled).toEqual(records.prepulled)
  const error = failure.error.toWellFormed()
  expect(reading.records.failures).toEqual(new Map([['registry:5000/some/lab@sha256:01', { ...failure, error }]]))
})

test('a write says whether the replica holds the lease', async () => {
  expect((await prepulls.read(token)).held).toBe(true)
  expect((await prepulls.read('another')).held).toBe(false)
  await store().redis.del(prepulls.lease)
  expect((await prepulls.read(token)).held).toBe(false)
})

test('nothing is written without the lease', async () => {
  expect(await prepulls.write('another', noRecords, records)).toBe(false)
  await store().redis.del(prepulls.lease)
  expect(await prepulls.write(token, noRecords, records)).toBe(false)
  expect((await prepulls.read()).records).toEqual(noRecords)
})

test('a write changes only what differs, and removes what is gone', async () => {
  await prepulls.write(token, noRecords, records)
  // A field that the next write does not change, and must keep.
  await store().redis.hset(store().keys.prepulled, 'kept', 'x')
  const [first] = [...records.prepulled]
  const after = { prepulled: new Map([first!, ['new', new Map([['n', false]])]]), failures: new Map() }
  expect(await prepulls.write(token, records, after)).toBe(true)
  const expected = new Map([...after.prepulled, ['kept', new Map([['x', false]])]])
  expect((await prepulls.read()).records).toEqual({ prepulled: expected, failures: new Map() })
  expect(await store().redis.exists(store().keys.prepullFailures)).toBe(0)
})

test('an unchanged value is not sent', async () => {
  const same = {
    prepulled: new Map([
      [
        'i',
        new Map([
          ['b', true],
          ['a', false],
        ]),
      ],
    ]),
    failures: new Map(),
  }
  const turned = {
    prepulled: new Map([
      [
        'i',
        new Map([
          ['a', false],
          ['b', true],
        ]),
      ],
    ]),
    failures: new Map(),
  }
  await store().redis.del(prepulls.lease)
  expect(await prepulls.write(token, same, turned)).toBe(true)
})
