import { expect, test } from 'vitest'
import { Lines, tooLong } from './lines.ts'

const cut = (lines: Lines, ...chunks: string[]) => chunks.map(chunk => lines.take(Buffer.from(chunk)))

test('Lines joins what comes in pieces, and keeps what has no end', () => {
  expect(cut(new Lines(10), 'ab', 'c\nd', '', '\n\nef')).toEqual([[], ['abc'], [], ['d', '']])
})

test('Lines drops a line that is too long, however it comes, and reads the next one', () => {
  expect(cut(new Lines(3), 'abcd\nabc\n')).toEqual([[tooLong, 'abc']])
  expect(cut(new Lines(3), 'ab', 'cd', 'ef', '\nabc\n')).toEqual([[], [], [], [tooLong, 'abc']])
})

test('Lines keeps a character that is cut in two', () => {
  const lines = new Lines(10)
  const bytes = Buffer.from('é\n')
  expect([lines.take(bytes.subarray(0, 1)), lines.take(bytes.subarray(1))]).toEqual([[], ['é']])
})
