import { expect, it } from 'vitest'
import { PerUserLimit, TotalLimit } from './held.ts'

it('PerUserLimit counts each user separately', () => {
  const limit = new PerUserLimit(1, 'requests')
  const leave = limit.enter('ada')
  expect(() => limit.enter('ada')).toThrow('too many requests at once')
  limit.enter('grace')
  leave()
  limit.enter('ada')
})

it('PerUserLimit forgets users who hold nothing', () => {
  const limit = new PerUserLimit(2, 'requests')
  const leaves = [limit.enter('ada'), limit.enter('ada')]
  leaves[0]!()
  expect(limit.users).toBe(1)
  leaves[1]!()
  expect(limit.users).toBe(0)
})

it('TotalLimit counts all users together, and answers with Retry-After', () => {
  const bytes = new TotalLimit(10, 'bytes')
  const leave = bytes.enter(6)
  expect(() => bytes.enter(5)).toThrow(
    expect.objectContaining({ status: 503, headers: { 'Retry-After': '1' } }) as Error,
  )
  bytes.enter(4)
  leave()
  expect(bytes.held).toBe(4)
  bytes.enter(6)
})
