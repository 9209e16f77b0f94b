import { expect, test } from 'vitest'
import { type Asked, type Exchange, isLinearizable } from './linear.ts'

/** Reads `create 303 0-5`: request, answer, and the times of both. */
const history = (...lines: string[]): Exchange[] =>
  lines.map(line => {
    const [asked, answer, times] = line.split(' ')
    const [sentMs, answeredMs] = times!.split('-').map(Number)
    return { asked: asked as Asked, answer: answer === '.' ? '' : answer!, sentMs: sentMs!, answeredMs: answeredMs! }
  })

test.each([
  [[]],
  [['create 303 0-5', 'create 409 1-4']],
  [['create 303 0-5', 'delete 202 0-5', 'create 409 0-5']],
  [['delete 404 0-5', 'create 303 0-5']],
  [['create 303 0-1', 'delete 202 2-3', 'status none 4-5', 'create 303 6-7']],
  [
    [
      'create 303 0-1',
      'status running 2-3',
      'cull . 4-5',
      'create 409 4-5',
      'status terminating 6-7',
      'create 303 8-9',
    ],
  ],
  [['create 303 0-1', 'cull . 2-3', 'status failed 4-5', 'create 303 6-7']],
  [['create 303 0-1', 'cull . 2-9', 'status terminating 3-4']],
])('isLinearizable is true for %j', lines => {
  expect(isLinearizable(history(...lines))).toBe(true)
})

test.each([
  ['two creations at once', ['create 303 0-5', 'create 303 1-4']],
  ['a creation of a lab that runs', ['create 303 0-1', 'status running 2-3', 'create 303 4-5']],
  ['a lab denied', ['create 303 0-1', 'delete 404 2-3']],
  ['a lab refused that is not there', ['create 409 0-1']],
  ['a stale read', ['create 303 0-1', 'status none 2-3']],
  ['a read that went back', ['create 303 0-1', 'status running 2-3', 'status pending 4-5']],
  ['a lab that ended unasked', ['create 303 0-1', 'status running 2-3', 'status terminating 4-5']],
  ['a failure without a reason', ['create 303 0-1', 'status failed 2-3']],
  ['a deletion that nobody could have asked for yet', ['create 303 0-1', 'status terminating 2-3', 'delete 202 4-5']],
])('isLinearizable is false for %s', (_, lines) => {
  expect(isLinearizable(history(...lines))).toBe(false)
})
