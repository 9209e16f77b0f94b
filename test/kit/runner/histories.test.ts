import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { expect, test } from 'vitest'
import { type HistoryOptions, runHistory } from './histories.ts'

const seeded = (seed: number, options: Omit<HistoryOptions, 'random'>) => {
  const generator = xoroshiro128plus(seed)
  return runHistory({ ...options, random: () => uniformFloat64(generator) })
}

test('runHistory finds no overlap when keepers are taken over amid their starts', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  const result = await seeded(seed, { steps: 15 })
  expect({ seed, violations: result.violations }).toEqual({ seed, violations: [] })
})
