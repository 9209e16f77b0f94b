import { expect, it } from 'vitest'
import { Kept } from './kept.ts'

it('Kept forgets what was not used for long when there is more than it keeps', () => {
  const kept = new Kept<number>(4)
  const of = (...keys: string[]) => keys.map(key => kept.get(key))
  kept.set('a', 1)
  kept.set('b', 2)
  kept.set('c', 3)
  expect(of('a', 'd')).toEqual([1, undefined])
  kept.set('d', 4)
  kept.set('e', 5)
  expect(kept.size).toBeLessThanOrEqual(4)
  expect(of('b', 'a', 'd', 'e')).toEqual([undefined, 1, 4, 5])
})

it('Kept has the last value of a key, and none of a deleted one', () => {
  const kept = new Kept<number>(4)
  for (const key of ['a', 'b', 'c']) kept.set(key, 1)
  kept.set('a', 2)
  kept.set('c', 2)
  expect([kept.get('a'), kept.get('c'), kept.size]).toEqual([2, 2, 3])
  for (const key of ['a', 'b', 'c']) kept.delete(key)
  expect([kept.get('a'), kept.get('b'), kept.get('c'), kept.size]).toEqual([undefined, undefined, undefined, 0])
})

it('Kept never has more than it may, however they come', () => {
  const kept = new Kept<number>(10)
  for (let i = 0; i < 1000; i++) {
    kept.set(`${i % 37}`, i)
    kept.get(`${(i * 7) % 37}`)
    expect(kept.size).toBeLessThanOrEqual(10)
    expect(kept.get(`${i % 37}`)).toBe(i)
  }
})
