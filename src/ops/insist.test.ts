import { expect, test } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import { insist } from './insist.ts'

function insisting(errors: readonly Error[]) {
  const clock = new ManualClock()
  const stopped = new AbortController()
  const left = [...errors]
  const seen = { checks: 0, asks: 0, lost: undefined as Error | undefined }
  const check = () => {
    seen.checks += 1
    if (seen.lost) throw seen.lost
  }
  const answer = insist({ clock, signal: stopped.signal, check }, async () => {
    seen.asks += 1
    const error = left.shift()
    if (error) throw error
    return 'answer'
  })
  return { answer, clock, stopped, seen }
}

const away = new RetryLater('Redis does not answer')

test('insist asks again, after a pause and a check, while Redis does not answer', async () => {
  const { answer, clock, seen } = insisting([away, away])
  for (let round = 1; round <= 2; round += 1) {
    await clock.sleepBetween(100, 100)
    expect(seen).toMatchObject({ checks: round, asks: round })
    clock.advance(100)
  }
  expect(await answer).toBe('answer')
  expect(seen).toMatchObject({ checks: 3, asks: 3 })
})

test('insist throws what does not pass, and asks once', async () => {
  const { answer, seen } = insisting([new Fenced('another owner')])
  await expect(answer).rejects.toThrow(Fenced)
  expect(seen.asks).toBe(1)
})

test('insist asks no more when the lease has expired', async () => {
  const { answer, clock, seen } = insisting([away])
  const outcome = expect(answer).rejects.toThrow('expired')
  await clock.sleepBetween(100, 100)
  seen.lost = new Error('expired')
  clock.advance(100)
  await outcome
  expect(seen.asks).toBe(1)
})

test('insist ends its pause when the lease is lost', async () => {
  const { answer, clock, stopped, seen } = insisting([away])
  const outcome = expect(answer).rejects.toThrow('lost')
  await clock.sleepBetween(100, 100)
  stopped.abort(new Error('lost'))
  await outcome
  expect(seen.asks).toBe(1)
})
