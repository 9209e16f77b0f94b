import { setImmediate } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { silentLog } from '../../../test/kit/log.ts'
import { RetryLater } from '../../base/errors.ts'
import { Uses } from './uses.ts'

let clock: ManualClock
let extended: string[][]
let isDown: boolean

beforeEach(() => {
  clock = new ManualClock()
  extended = []
  isDown = false
})

function usesOf(sessionMs = 1_800_000): Uses {
  const extend = async (sessions: readonly { readonly sessionHash: string }[]) => {
    if (isDown) throw new RetryLater('Redis does not answer')
    extended.push(sessions.map(({ sessionHash }) => sessionHash))
    return 0
  }
  return new Uses({ sessions: { extend }, clock, log: silentLog, sessionMs })
}

const note = (uses: Uses, sessionHash: string) =>
  uses.note({ claim: { sessionHash, loginHash: 'l', user: 'ada', appId: 'a', appUid: 'u' } })

const pass = async (ms: number) => {
  await setImmediate()
  clock.advance(ms)
  for (let i = 0; i < 10; i++) await setImmediate()
}

describe('Uses', () => {
  it('extends each session that was used once a minute, and others not', async () => {
    const uses = usesOf()
    uses.start()
    for (const hash of ['a', 'b', 'a']) note(uses, hash)
    await pass(59_999)
    expect(extended).toEqual([])
    await pass(1)
    expect(extended).toEqual([['a', 'b']])
    await pass(60_000)
    note(uses, 'b')
    await pass(60_000)
    expect(extended).toEqual([['a', 'b'], ['b']])
  })

  it('extends short sessions more often', async () => {
    const uses = usesOf(60_000)
    uses.start()
    note(uses, 'a')
    await pass(15_000)
    expect(extended).toEqual([['a']])
  })

  it('extends later when Redis does not answer', async () => {
    const uses = usesOf()
    uses.start()
    note(uses, 'a')
    isDown = true
    await pass(60_000)
    isDown = false
    note(uses, 'b')
    await pass(5_000)
    expect(extended.map(hashes => hashes.toSorted())).toEqual([['a', 'b']])
  })

  it('extends the rest when it stops', async () => {
    const uses = usesOf()
    uses.start()
    note(uses, 'a')
    await uses.stop()
    expect(extended).toEqual([['a']])
  })

  it('notes a bounded number', async () => {
    const uses = usesOf()
    uses.start()
    isDown = true
    for (let i = 0; i < 30_000; i++) note(uses, String(i))
    isDown = false
    await uses.stop()
    expect(extended.flat().length).toBeLessThanOrEqual(20_001)
    expect(extended.flat().length).toBeGreaterThan(10_000)
  })
})
