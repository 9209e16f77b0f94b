import { expect, test } from 'vitest'
import { uptimeAt } from './start-times.ts'

const log =
  '{"msg":"listening","uptimeMs":412}\nnot of the log\n{"msg":"connected to Redis"}\n{"msg":"ready","uptimeMs":731}\n'

test('uptimeAt reads the age of a process from its log', () => {
  expect([uptimeAt(log, 'listening'), uptimeAt(log, 'ready')]).toEqual([412, 731])
  expect(() => uptimeAt(log, 'draining')).toThrow(/no replica says/)
})
