import { expect, test } from 'vitest'
import { Bound } from './bounds.ts'

test('Bound refuses a key that has its share, and no other one', () => {
  const bound = new Bound(2)
  expect([bound.take('a'), bound.take('a')].map(Boolean)).toEqual([true, true])
  expect(bound.take('a')).toBe(undefined)
  expect(bound.take('b')).toBeTypeOf('function')
  expect(bound.total).toBe(3)
})

test('Bound gives a place back once, however often that is said', () => {
  const bound = new Bound(2)
  const giveBack = bound.take('a')!
  bound.take('a')
  giveBack()
  giveBack()
  expect([bound.of('a'), bound.total]).toEqual([1, 1])
})
