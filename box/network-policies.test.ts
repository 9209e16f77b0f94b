import { expect, test } from 'vitest'
import { isRead } from './network-policies.ts'

const table = `  100   4711     0 0     0     0     0        0  1
24488  12345     0 2   128     0     0        7  1
`

test('a queue is read once a program is given its packets, not when somebody has only opened it', () => {
  expect(isRead(table, 24_488)).toBe(true)
  expect(isRead(table, 100)).toBe(false)
  expect(isRead(table, 4488)).toBe(false)
  expect(isRead('', 24_488)).toBe(false)
})
