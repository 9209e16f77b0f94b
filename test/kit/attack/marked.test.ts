import { expect, test } from 'vitest'
import { Marked } from './marked.ts'

const value = 'a-value/that+is:marked'
const marked = new Marked()
marked.add('it', value)

test.each([
  ['in clear', `x=${value};`],
  ['in an address', `/?a=${encodeURIComponent(value)}`],
  ['in JSON within JSON', JSON.stringify({ a: JSON.stringify({ b: value }) })],
  ['in hexadecimal digits', Buffer.from(value).toString('hex')],
  ...[0, 1, 2, 3].map(before => [
    `in base64 after ${before} bytes`,
    Buffer.from(`${'x'.repeat(before)}${value} and more`).toString('base64'),
  ]),
  ['in base64url', Buffer.from(`??${value}`).toString('base64url')],
])('Marked finds a value %s', (_, text) => {
  expect(marked.foundAt([['a place', text!]])).toEqual(['it is in a place'])
})

test('Marked finds no value that is not there', () => {
  expect(marked.foundAt([['a place', `${value.slice(0, -1)}?`]])).toEqual([])
})
