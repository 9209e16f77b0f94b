/** Where a machine has one container, its rule decides as the one that knew no other machines did. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decide } from './decide.ts'
import { anyInput } from './testing/arbitrary.ts'

/** A hash of the decisions of the former rule about 2,000 inputs. */
const recorded = 'bdbd1ef354cd948ab86bdbf3ae49b7c4c8435a40f8f945f3f52cd45889a2bb9f'

test('decide is what it was before machines could be shared, where they are not', () => {
  const inputs = fc.sample(anyInput, { numRuns: 2_000, seed: 7 })
  const digest = createHash('sha256')
  for (const input of inputs) {
    const { create, ...others } = decide(input)
    for (const { containers } of create) expect(containers).toHaveLength(1)
    const made = create.map(({ type, containers: [container], tenant }) => ({ type, container, tenant }))
    digest.update(JSON.stringify({ ...others, create: made }))
  }
  expect(digest.digest('hex')).toBe(recorded)
})
