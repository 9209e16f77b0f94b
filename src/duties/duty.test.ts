import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Duty, type DutyRest, type Take } from './duty.ts'

/** A lease, and a log of its changes. */
function lease() {
  const state = { holder: '', log: [] as string[], isLost: false }
  const of = (name: string) => ({
    acquireTask: async (key: string) => {
      if (state.holder) return null
      state.holder = name
      state.log.push(`${name} takes ${key}`)
      const release = async () => {
        state.holder = ''
        state.log.push(`${name} gives back`)
      }
      return { token: `token of ${name}`, release, isLost: state.isLost }
    },
  })
  return { state, of }
}

type Round = (take: Take) => Promise<DutyRest>

function onDuty(round: Round, { state, of } = lease(), name = 'one') {
  const clock = new ManualClock()
  const duty = new Duty({
    clock,
    leases: of(name),
    lease: 'lease',
    round,
    failed: error => {
      state.log.push(`failed: ${(error as Error).message}`)
      return { ms: 7000 }
    },
    onEnd: () => void state.log.push(`${name} ends`),
  })
  onTestFinished(() => duty.stop())
  duty.start()
  return { clock, duty, log: state.log }
}

describe('Duty', () => {
  it('releases the lease after a round, before the rest', async () => {
    const tokens: (string | null)[] = []
    const { clock, log } = onDuty(async take => {
      tokens.push(await take(), await take())
      return { ms: 100 }
    })
    await clock.sleepBetween(100, 100)
    expect(log).toEqual(['one takes lease', 'one ends', 'one gives back'])
    expect(tokens).toEqual(['token of one', 'token of one'])
  })

  it('takes no lease when a round finds nothing to do', async () => {
    const { clock, log } = onDuty(async () => ({ ms: 100 }))
    await clock.sleepBetween(100, 100)
    expect(log).toEqual([])
  })

  it('keeps the lease between rounds on request, until it is stopped', async () => {
    const { clock, duty, log } = onDuty(async take => {
      await take()
      return { ms: 100, keep: true }
    })
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await clock.sleepBetween(100, 100)
    expect(log).toEqual(['one takes lease'])
    await duty.stop()
    expect(log).toEqual(['one takes lease', 'one ends', 'one gives back'])
  })

  it('takes the lease anew when it was lost between rounds', async () => {
    const common = lease()
    common.state.isLost = true
    const { clock, log } = onDuty(async take => {
      await take()
      return { ms: 100, keep: true }
    }, common)
    await clock.sleepBetween(100, 100)
    clock.advance(100)
    await clock.sleepBetween(100, 100)
    expect(log).toEqual(['one takes lease', 'one ends', 'one gives back', 'one takes lease'])
  })

  it('has no lease when another replica holds it', async () => {
    const common = lease()
    const keeps = async (take: Take) => {
      await take()
      return { ms: 100, keep: true }
    }
    const first = onDuty(keeps, common)
    await first.clock.sleepBetween(100, 100)
    const tokens: (string | null)[] = []
    const second = onDuty(
      async take => {
        tokens.push(await take())
        return { ms: 200, keep: true }
      },
      common,
      'two',
    )
    await second.clock.sleepBetween(200, 200)
    await first.duty.stop()
    second.duty.wake()
    await expect.poll(() => tokens).toEqual([null, 'token of two'])
  })

  it('releases the lease and goes on when a round fails', async () => {
    let failures = 0
    const { clock, log } = onDuty(async take => {
      await take()
      failures += 1
      if (failures === 1) throw new Error('refused')
      return { ms: 100, keep: true }
    })
    await clock.sleepBetween(7000, 7000)
    expect(log).toEqual(['one takes lease', 'one ends', 'one gives back', 'failed: refused'])
    clock.advance(7000)
    await clock.sleepBetween(100, 100)
    expect(log.at(-1)).toBe('one takes lease')
  })
})
