import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Clocks } from './clocks.ts'

/** Asks a Redis whose clock runs as the replica's does, but for what a test adds. */
function world() {
  const clock = new ManualClock({ nowMs: 1_000_000 })
  const jumps: number[] = []
  const clocks = new Clocks({ clock, onJump: async byMs => void jumps.push(byMs) })
  let aheadMs = 0
  const ask = (beforeMs = 0, afterMs = 0) =>
    clocks.around(async () => {
      clock.advance(beforeMs)
      const nowMs = clock.monotonicMs() + aheadMs
      clock.advance(afterMs)
      return { nowMs }
    })
  const step = (ms: number) => {
    aheadMs += ms
  }
  return { clock, jumps, ask, step }
}

describe('Clocks', () => {
  it.each([6000, -6000, 3_600_000, -3_600_000])('reports a step by %i ms once', async ms => {
    const { clock, jumps, ask, step } = world()
    await ask()
    clock.advance(1000)
    step(ms)
    await ask()
    await ask()
    expect(jumps).toEqual([ms])
  })

  it.each([4000, -4000])('tolerates a step by %i ms', async ms => {
    const { jumps, ask, step } = world()
    await ask()
    step(ms)
    await ask()
    expect(jumps).toEqual([])
  })

  it('takes no answer that came late for a step: this replica was stopped, or Redis was', async () => {
    const { clock, jumps, ask } = world()
    await ask(0, 30_000)
    await ask(30_000, 0)
    clock.advance(60_000)
    await ask(0, 30_000)
    await ask()
    expect(jumps).toEqual([])
  })

  it('reports a step again until it could be written', async () => {
    const clock = new ManualClock()
    let tries = 0
    const onJump = async () => {
      tries += 1
      if (tries === 1) throw new Error('Redis does not answer')
    }
    const clocks = new Clocks({ clock, onJump })
    const ask = (nowMs: number) => clocks.around(async () => ({ nowMs }))
    await ask(0)
    await expect(ask(60_000)).rejects.toThrow('does not answer')
    await ask(60_000)
    await ask(60_000)
    expect(tries).toBe(2)
  })
})
