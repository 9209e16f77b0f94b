import { expect, it } from 'vitest'
import { PerUserLimit } from './limits.ts'

it('counts each user apart', () => {
  const limit = new PerUserLimit(1, 'requests')
  const leave = limit.enter('ada')
  expect(() => limit.enter('ada')).toThrow('too many requests at once')
  limit.enter('grace')
  leave()
  limit.enter('ada')
})

it('forgets users who hold nothing', () => {
  const limit = new PerUserLimit(2, 'requests')
  const leaves = [limit.enter('ada'), limit.enter('ada')]
  leaves[0]!()
  expect(limit.users).toBe(1)
  leaves[1]!()
  expect(limit.users).toBe(0)
})
