import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { jittered, Loop, type Rest, restAfter } from './loop.ts'

/** Runs all pending work that waits for no timer. */
const settled = () => new Promise(resolve => setImmediate(resolve))

/** A loop whose rounds a test ends. */
function looping(rest: Rest = { ms: 100 }) {
  const clock = new ManualClock()
  const ends: { done: (rest?: Rest) => void; fail: () => void }[] = []
  const told: number[] = []
  const loop = new Loop({
    clock,
    round: () =>
      new Promise((resolve, reject) =>
        ends.push({ done: (other = rest) => resolve(other), fail: () => reject(new Error('refused')) }),
      ),
    failed: (_, failures) => {
      told.push(failures)
      return restAfter(failures, { baseMs: 1000, capMs: 8000 })
    },
  })
  onTestFinished(async () => {
    const stopped = loop.stop()
    ends.at(-1)?.done()
    await stopped
  })
  /** The number of rounds that have begun. */
  const begun = async () => {
    await settled()
    return ends.length
  }
  const end = (other?: Rest) => ends.at(-1)!.done(other)
  const fail = () => ends.at(-1)!.fail()
  return { clock, loop, begun, end, fail, told }
}

describe('Loop', () => {
  it('ends with the error, for the process to end, when a failure is thrown on', async () => {
    const clock = new ManualClock()
    const failed = (error: unknown) => {
      throw error
    }
    const defect = new Error('a defect')
    const round = async () => {
      throw defect
    }
    const thrown = new Promise(resolve => process.once('unhandledRejection', resolve))
    new Loop({ clock, round, failed }).start()
    expect(await thrown).toBe(defect)
  })

  it('begins a round at once, and the next one when the rest is over', async () => {
    const { clock, loop, begun, end } = looping()
    loop.start()
    expect(await begun()).toBe(1)
    end()
    await clock.sleepBetween(100, 100)
    clock.advance(99)
    expect(await begun()).toBe(1)
    clock.advance(1)
    expect(await begun()).toBe(2)
  })

  it('begins with a rest on request', async () => {
    const { clock, loop, begun } = looping()
    loop.start({ ms: 50 })
    expect(await begun()).toBe(0)
    clock.advance(50)
    expect(await begun()).toBe(1)
  })

  it('begins once when it is started twice', async () => {
    const { loop, begun } = looping()
    loop.start()
    loop.start()
    expect(await begun()).toBe(1)
  })

  it('ends its rest when it is woken', async () => {
    const { clock, loop, begun, end } = looping()
    loop.start()
    end()
    await clock.sleepBetween(100, 100)
    loop.wake()
    expect(await begun()).toBe(2)
  })

  it('begins one more round when it was woken during one, however often', async () => {
    const { clock, loop, begun, end } = looping()
    loop.start()
    for (let i = 0; i < 3; i++) loop.wake()
    expect(await begun()).toBe(1)
    end()
    expect(await begun()).toBe(2)
    end()
    await clock.sleepBetween(100, 100)
    expect(await begun()).toBe(2)
  })

  it('acts on a wake after the time in which it is deaf', async () => {
    const { clock, loop, begun, end } = looping({ ms: 100, deafMs: 30 })
    loop.start()
    end()
    await clock.sleepBetween(30, 30)
    loop.wake()
    expect(await begun()).toBe(1)
    clock.advance(30)
    expect(await begun()).toBe(2)
  })

  it('does not rest when a round returns no rest', async () => {
    const { loop, begun, end } = looping({ ms: 0 })
    loop.start()
    end()
    expect(await begun()).toBe(2)
  })

  it('goes on when rounds fail, each time later, until one succeeds', async () => {
    const { clock, loop, begun, end, fail, told } = looping({ ms: 0 })
    loop.start()
    for (const [fromMs, toMs] of [[500, 1000] as const, [1000, 2000] as const]) {
      fail()
      const ms = await clock.sleepBetween(fromMs, toMs)
      loop.wake()
      const before = await begun()
      clock.advance(ms)
      expect(await begun()).toBe(before + 1)
    }
    end()
    expect(await begun()).toBe(4)
    fail()
    await clock.sleepBetween(500, 1000)
    expect(told).toEqual([1, 2, 1])
  })

  it('stops when the round in progress is over', async () => {
    const { loop, begun, end } = looping()
    loop.start()
    let isStopped = false
    const stopped = loop.stop().then(() => {
      isStopped = true
    })
    await settled()
    expect([loop.signal.aborted, isStopped]).toEqual([true, false])
    end()
    await stopped
    expect(await begun()).toBe(1)
  })

  it.each([{ ms: 100 }, { ms: 0, deafMs: 100 }])('stops at once when it rests for %o', async rest => {
    const { clock, loop, begun, end } = looping(rest)
    loop.start()
    end()
    await clock.sleepBetween(100, 100)
    await loop.stop()
    loop.wake()
    expect(await begun()).toBe(1)
  })

  it('does not report a round that fails because of stop', async () => {
    const { loop, fail, told } = looping()
    loop.start()
    const stopped = loop.stop()
    fail()
    await stopped
    expect(told).toEqual([])
  })

  it('stops when it was never started', async () => {
    await expect(looping().loop.stop()).resolves.toBeUndefined()
  })
})

it('jittered varies a time by its share in both directions', () => {
  expect([0, 0.5, 1].map(random => jittered(1000, 0.2, () => random))).toEqual([800, 1000, 1200])
})
