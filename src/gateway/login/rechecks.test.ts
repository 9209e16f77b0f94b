import { beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { silentLog } from '../../../test/kit/log.ts'
import { RetryLater, unavailable } from '../../base/errors.ts'
import { Unclear } from '../../identity/source.ts'
import type { RecheckResult as Ended } from '../../store/apps/rechecks.ts'
import { wordMs } from '../access/words.ts'
import { type RecheckResult, Rechecks } from './rechecks.ts'
import type { NewWord } from './word-source.ts'

const everyMs = 60_000
let clock: ManualClock
/** By login: when Redis has its last word from. */
let wordsMs: Map<string, number>
let answers: Map<string, () => NewWord>
let asked: string[]
let ended: Ended[]
let isNoted: boolean[]
let results: RecheckResult[]
let words: Rechecks

const word = (...groups: string[]) => ({ groups, kept: { token: 't' } })
const failing = (error: Error) => () => {
  throw error
}

beforeEach(async () => {
  clock = new ManualClock({ passBelowMs: 1_000 })
  ;[wordsMs, answers, asked, ended, isNoted, results] = [new Map(), new Map(), [], [], [], []]
  words = new Rechecks({
    store: {
      begin: async (hash, _, terms) => {
        const ageMs = clock.monotonicMs() - wordsMs.get(hash)!
        if (ageMs <= terms.everyMs) return { is: 'fresh', ageMs }
        return { is: 'ask', ageMs, user: hash, groups: ['physics'], sealed: 'sealed' }
      },
      end: async result => {
        ended.push(result)
        const noted = isNoted.shift() ?? true
        if (noted) wordsMs.set(result.hash, clock.monotonicMs() - result.agoMs)
        return noted
      },
      leave: async () => {},
    },
    logins: { remove: async () => {} } as unknown as ConstructorParameters<typeof Rechecks>[0]['logins'],
    keeper: { seal: () => 'resealed', open: () => ({ token: 't' }) },
    source: {
      again: async (_, user) => {
        asked.push(user)
        return (answers.get(user) ?? (() => word('physics')))()
      },
    },
    ...{ clock, log: silentLog, everyMs, answerMs: 2_000, maxInFlight: 16, onWord: is => void results.push(is) },
  })
  for (const hash of ['ada', 'eve']) {
    wordsMs.set(hash, clock.monotonicMs())
    await words.ask(hash)
  }
})

describe('Rechecks', () => {
  it('goes on to ask about others when one login alone has no usable answer', async () => {
    answers.set('eve', failing(new Unclear('unclear')))
    clock.advance(everyMs + 1)
    expect(await words.ask('eve')).toBe('same')
    expect(await words.ask('ada')).toBe('same')
    expect(asked).toEqual(['eve', 'ada'])
    expect(words.isFresh('ada')).toBe(true)
    // About this login nothing is asked for a moment.
    for (let i = 0; i < 50; i++) expect(await words.ask('eve')).toBe('same')
    expect(asked).toHaveLength(2)
    clock.advance(1_001)
    await words.ask('eve')
    await words.stop()
    expect(asked).toEqual(['eve', 'ada', 'eve'])
  })

  it('asks about nobody for a moment when the source is away', async () => {
    answers.set('eve', failing(unavailable('away')))
    clock.advance(everyMs + 1)
    expect(await words.ask('eve')).toBe('same')
    expect(await words.ask('ada')).toBe('same')
    await words.stop()
    expect(asked).toEqual(['eve'])
  })

  it('calls a word too old after five minutes when the source answers about everybody else', async () => {
    answers.set('eve', failing(new Unclear('unclear')))
    for (let ms = 0; ms <= wordMs; ms += everyMs) {
      clock.advance(everyMs)
      for (const hash of ['eve', 'ada']) words.note(hash)
      await words.stop()
    }
    expect([words.isTooOld('eve'), words.isTooOld('ada')]).toEqual([true, false])
    await expect(words.ask('eve')).rejects.toBeInstanceOf(RetryLater)
    expect(words.isFresh('ada')).toBe(true)
  })

  it('asks again when another gateway has asked meanwhile, and believes the answer that stands', async () => {
    clock.advance(everyMs + 1)
    isNoted = [false, true]
    const said = [word('physics'), word('chemistry')]
    answers.set('ada', () => said.shift()!)
    expect(await words.ask('ada')).toBe('changed')
    expect(ended.map(({ groups }) => groups)).toEqual([undefined, ['chemistry']])
    expect(words.isFresh('ada')).toBe(true)
  })

  it('calls no word fresh that never stands', async () => {
    clock.advance(everyMs + 1)
    isNoted = Array(100).fill(false)
    expect(await words.ask('ada')).toBe('same')
    expect([words.isFresh('ada'), ended.length <= 15]).toEqual([false, true])
  })
})
