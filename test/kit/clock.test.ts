import { describe, expect, it } from 'vitest'
import { hastyClock, ManualClock } from './clock.ts'

describe('ManualClock', () => {
  it('moves only when the test advances it, and wakes the sleepers that are due', async () => {
    const clock = new ManualClock()
    const begunMs = clock.monotonicMs()
    const woken: string[] = []
    const sleeps = [clock.sleep(10).then(() => woken.push('soon')), clock.sleep(20).then(() => woken.push('later'))]
    clock.advance(10)
    await sleeps[0]
    expect(woken).toEqual(['soon'])
    expect(clock.sleeping).toBe(1)
    clock.advance(10)
    await sleeps[1]
    expect(clock.monotonicMs() - begunMs).toBe(20)
  })

  it('rejects a sleep when its signal is aborted before or during it', async () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    const sleeping = clock.sleep(10, stop.signal)
    stop.abort(new Error('enough'))
    await expect(sleeping).rejects.toThrow('enough')
    await expect(clock.sleep(10, stop.signal)).rejects.toThrow('enough')
    expect([clock.sleeping, clock.sleeps]).toEqual([0, 1])
  })

  it('resolves every waiter when a sleeper comes', async () => {
    const clock = new ManualClock()
    const waiting = [clock.whenSleeping(30), clock.sleepBetween(20, 40)]
    void clock.sleep(30)
    expect(await Promise.all(waiting)).toEqual([undefined, 30])
  })

  it('moves only the wall clock when a test steps it', () => {
    const clock = new ManualClock({ nowMs: 0 })
    clock.stepWall(-5)
    expect([clock.wallMs(), clock.monotonicMs()]).toEqual([-5, 0])
  })

  it('lets short sleeps pass at once when that option is set', async () => {
    const clock = hastyClock()
    const begunMs = clock.monotonicMs()
    await clock.sleep(4999)
    void clock.sleep(5000)
    expect([clock.waits, clock.sleeping, clock.monotonicMs() - begunMs]).toEqual([[4999], 1, 4999])
  })

  it('runs on with the system clock when that option is set', async () => {
    const clock = new ManualClock({ runs: true })
    clock.advance(60_000)
    const beforeMs = clock.monotonicMs()
    await clock.sleep(5)
    expect(clock.monotonicMs() - beforeMs).toBeGreaterThanOrEqual(5)
    expect(clock.wallMs() - Date.now()).toBeGreaterThan(50_000)
  })
})
