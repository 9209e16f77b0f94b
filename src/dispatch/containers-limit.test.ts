import { describe, expect, it } from 'vitest'
import { afterOverload, firstLimit, grown } from './containers-limit.ts'

const nowMs = 1_700_000_000_000

describe('the limit of containers', () => {
  it('begins with the estimate, and without one it has no end', () => {
    expect(firstLimit(7).most).toBe(7)
    expect(firstLimit(0).most).toBe(Number.POSITIVE_INFINITY)
  })

  it('falls below the running ones at an overload, but not below one', () => {
    expect(afterOverload(12, nowMs)).toEqual({ most: 11, overloadedMs: nowMs })
    expect(afterOverload(0, nowMs).most).toBe(1)
  })

  it('stays for a minute after an overload, then grows with what runs', () => {
    const low = afterOverload(21, nowMs)
    expect(grown(low, 20, nowMs + 59_999)).toBe(low)
    expect(grown(low, 20, nowMs + 60_000).most).toBe(23)
    expect(grown(firstLimit(7), 7, nowMs).most).toBe(8)
  })

  it('never falls in quiet times', () => {
    expect(grown(firstLimit(50), 3, nowMs).most).toBe(50)
    expect(grown(firstLimit(0), 3, nowMs).most).toBe(Number.POSITIVE_INFINITY)
  })
})
