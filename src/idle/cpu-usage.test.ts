import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { agoOf, readUsagePage } from './cpu-usage.ts'

const at = '2026-11-24T10:00:00Z'
const item = (cpu: unknown, more: object = {}) => ({
  metadata: { namespace: 'labs-ada', name: 'nb-ada' },
  timestamp: at,
  window: '15s',
  containers: [{ name: 'notebook', usage: { cpu, memory: '1Gi' } }],
  ...more,
})
const figuresOf = (...items: unknown[]) => readUsagePage({ items }).usages.map(({ millicores }) => millicores)

describe('readUsagePage', () => {
  it.each([
    ['12345n', 0.012345],
    ['250u', 0.25],
    ['100m', 100],
    ['1', 1000],
    ['0', 0],
    ['1.5', 1500],
  ])('reads %s', (cpu, millicores) => {
    expect(readUsagePage({ items: [item(cpu)] }).usages).toEqual([
      { namespace: 'labs-ada', pod: 'nb-ada', takenMs: Date.parse(at), millicores: expect.closeTo(millicores, 9) },
    ])
  })

  it('adds up all containers', () => {
    const containers = ['100m', '1', '500u'].map(cpu => ({ usage: { cpu } }))
    expect(figuresOf(item('', { containers }))).toEqual([1100.5])
  })

  it.each<[string, unknown]>([
    ['is no object', 'a text'],
    ['has a figure that is no quantity', item('much')],
    ['has a number instead of one', item(100)],
    ['has a negative one', item('-1')],
    ['has one that no machine has', item('1e30')],
    ['has one that is very long', item(`${'0'.repeat(100)}1`)],
    ['has none', item(undefined)],
    ['has a container without one', item('', { containers: [{ usage: { cpu: '1' } }, { name: 'other' }] })],
    ['has no container', item('', { containers: [] })],
    ['has too many', item('', { containers: Array.from({ length: 101 }, () => ({ usage: { cpu: '1' } })) })],
    ['has no time', item('1', { timestamp: undefined })],
    ['has one that is unreadable', item('1', { timestamp: 'yesterday' })],
    ['has no name', item('1', { metadata: { namespace: 'labs-ada' } })],
    ['has a name that is too long', item('1', { metadata: { namespace: 'a', name: 'n'.repeat(254) } })],
  ])('leaves a pod out that %s', (_, each) => {
    expect(figuresOf(each, item('7m'))).toEqual([7])
  })

  it('names the next page', () => {
    expect(readUsagePage({ items: [], metadata: { continue: 'next' } }).next).toBe('next')
    for (const token of ['', undefined, 7, 'x'.repeat(5000)]) {
      expect(readUsagePage({ metadata: { continue: token } }).next).toBeUndefined()
    }
  })

  it('throws for nothing, whatever the answer is', () => {
    const answers = fc.oneof(fc.anything(), fc.record({ items: fc.array(fc.anything()), metadata: fc.anything() }))
    fc.assert(fc.property(answers, answer => readUsagePage(answer).usages.every(({ millicores }) => millicores >= 0)))
  })
})

describe('agoOf', () => {
  const usage = { namespace: 'a', pod: 'b', takenMs: 1_000_000, millicores: 1 }
  const ago = (nowMs: number, startedMs: number | undefined = 0) => agoOf(usage, nowMs, startedMs, 180_000)

  it('is how long ago it was measured, if that is not long', () => {
    expect([ago(1_000_000), ago(1_180_000), ago(1_180_001)]).toEqual([0, 180_000, undefined])
  })

  it('is 0 when the clock of the node is ahead by little, and nothing when it is by more', () => {
    expect([ago(940_000), ago(939_999)]).toEqual([0, undefined])
  })

  it('is nothing when it was that of a former pod, or nobody knows when this one started', () => {
    expect([ago(1_000_000, 1_000_001), agoOf(usage, 1_000_000, undefined, 180_000)]).toEqual([undefined, undefined])
  })
})
