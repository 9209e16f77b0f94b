import { expect, it } from 'vitest'
import { Kept } from './kept.ts'

it('Kept forgets what was used longest ago when there is more than it keeps', () => {
  const kept = new Kept<number>(2)
  kept.set('a', 1)
  kept.set('b', 2)
  expect(kept.get('a')).toBe(1)
  kept.set('c', 3)
  expect(['a', 'b', 'c'].map(key => kept.get(key))).toEqual([1, undefined, 3])
  kept.set('c', 4)
  kept.delete('a')
  expect([kept.size, kept.get('c')]).toEqual([1, 4])
})
