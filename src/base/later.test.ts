import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Later } from './later.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))

function makeLater() {
  const clock = new ManualClock()
  const done: string[] = []
  const later = new Later(clock)
  const due = (ms: number, name: string) => later.after(ms, () => done.push(name))
  const pass = async (ms: number) => {
    await settled()
    clock.advance(ms)
    await settled()
  }
  return { clock, done, later, due, pass }
}

describe('Later', () => {
  it('does work in the order in which it is due, never early and at most 100 ms late', async () => {
    const { done, due, pass } = makeLater()
    due(2_050, 'third')
    due(250, 'first')
    due(1_950, 'second')
    await pass(249)
    expect(done).toEqual([])
    await pass(101)
    expect(done).toEqual(['first'])
    await pass(1_599)
    expect(done).toEqual(['first'])
    await pass(101)
    expect(done).toEqual(['first', 'second'])
    await pass(100)
    expect(done).toEqual(['first', 'second', 'third'])
  })

  it('sleeps once, however much work there is', async () => {
    const { clock, done, due, pass } = makeLater()
    for (let i = 0; i < 1_000; i++) due(20_000 + i / 100, String(i))
    await settled()
    expect(clock.sleeping).toBe(1)
    await pass(20_110)
    expect(done).toHaveLength(1_000)
    expect(clock.sleeps).toBeLessThan(10)
  })

  it('does work that other work adds', async () => {
    const { done, later, due, pass } = makeLater()
    later.after(100, () => due(200, 'again'))
    await pass(200)
    expect(done).toEqual([])
    await pass(300)
    expect(done).toEqual(['again'])
  })

  it('does nothing after its stop', async () => {
    const { clock, done, later, due, pass } = makeLater()
    due(100, 'never')
    await settled()
    await later.stop()
    due(100, 'never either')
    await pass(1_000)
    expect(done).toEqual([])
    expect(clock.sleeping).toBe(0)
  })

  it('does nothing more of a tick when its work stops it', async () => {
    const { clock, done, later, due, pass } = makeLater()
    due(100, 'before')
    later.after(100, () => void later.stop())
    due(100, 'of this tick')
    due(200, 'of the next tick')
    await pass(1_000)
    expect(done).toEqual(['before'])
    expect(clock.sleeping).toBe(0)
  })
})
