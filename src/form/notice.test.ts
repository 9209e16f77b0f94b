import { expect, it } from 'vitest'
import { noticeOf } from './notice.ts'

const stop = { ms: Date.parse('2026-11-24T19:06:30Z'), words: 'stopped after 60 min without activity (rule gpu)' }
const dayMs = 24 * 3_600_000

it('noticeOf says why and when the last lab was stopped, for 7 days', () => {
  const words = 'Your last lab was stopped after 60 min without activity (rule gpu), on 24 November 2026 at 19:06 UTC.'
  expect(noticeOf(stop, stop.ms)).toBe(words)
  expect(noticeOf(stop, stop.ms + 7 * dayMs)).toBe(words)
  expect(noticeOf(stop, stop.ms + 7 * dayMs + 1)).toBeUndefined()
  // This replica's clock may be behind that of Redis.
  expect(noticeOf(stop, stop.ms - 1000)).toBe(words)
})

it('noticeOf says nothing when the last lab was not stopped', () => {
  expect(noticeOf(undefined, stop.ms)).toBeUndefined()
})
