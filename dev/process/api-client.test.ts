import { expect, test } from 'vitest'
import { pauseMs } from './api-client.ts'

test('pauseMs grows with the wait, between 50 and 250 ms', () => {
  expect([0, 1000, 2000, 60_000].map(pauseMs)).toEqual([50, 50, 100, 250])
})
