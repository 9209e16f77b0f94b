/** A load adds one number to all times and replaces UIDs by one table; everything else stays. */
import { expect, test } from 'vitest'
import { exchangeUids, moveEntry, moveTimes, timesOfToday, unknownTimes } from './times.ts'

const atMs = 1_795_362_000_000
const op = '1795362000000123'

test('moveEntry adds the number to the times of a record only, not to its op, token and empty times', () => {
  const value = { op, token: '0123456789abc', acceptedAt: `${atMs}`, deadline: `${atMs + 600_000}`, failedAt: '' }
  const moved = moveEntry('{skylab}:lab:ada', { type: 'hash', ttlMs: null, value }, timesOfToday, 5000)
  expect(moved).toEqual({
    type: 'hash',
    ttlMs: null,
    value: { ...value, acceptedAt: `${atMs + 5000}`, deadline: `${atMs + 605_000}` },
  })
})

test('moveEntry adds the number to scores that are times, not to scores that are ops', () => {
  const zset = (score: string) => ({ type: 'zset', ttlMs: null, value: { ada: score } }) as const
  expect(moveEntry('{skylab}:deadlines', zset(`${atMs}`), timesOfToday, 1000)).toEqual(zset(`${atMs + 1000}`))
  expect(moveEntry('{skylab}:waiting', zset(op), timesOfToday, 1000)).toEqual(zset(op))
})

test('moveTimes moves times of Kubernetes at any depth, and nothing else', () => {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', lastTransitionTime: '2026-11-22T16:00:00Z' }] }
  expect(moveTimes(status, 3_600_000)).toEqual({
    phase: 'Running',
    conditions: [{ type: 'Ready', lastTransitionTime: '2026-11-22T17:00:00Z' }],
  })
})

test('exchangeUids exchanges what the table has, in keys and values, and leaves other UUIDs', () => {
  const [old, fresh, nonce] = ['1', '2', '3'].map(digit => `0000000${digit}-0000-4000-8000-000000000000`)
  const value = { [`lease ${old}`]: [old, `uid=${old}`, nonce] }
  expect(exchangeUids(value, new Map([[old!, fresh!]]))).toEqual({ [`lease ${fresh}`]: [fresh, `uid=${fresh}`, nonce] })
})

test('unknownTimes names a value that looks like a time and is in no table', () => {
  const hash = { type: 'hash', ttlMs: null, value: { op, acceptedAt: `${atMs}`, restartedAt: `${atMs}` } } as const
  const found = unknownTimes({ '{skylab}:lab:ada': hash }, timesOfToday, atMs)
  expect(found).toEqual(['{skylab}:lab:ada restartedAt'])
})
