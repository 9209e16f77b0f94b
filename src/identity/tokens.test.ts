import { expect, it } from 'vitest'
import { formatTokens, parseTokens } from './tokens.ts'

it('formatTokens writes files that parseTokens reads, also for hundreds of users in one group', () => {
  const group = { name: 'astronomers', id: 4_900_000 }
  const tokens = Array.from({ length: 300 }, (_, i) => ({
    token: `token-${i}`,
    username: `user-${i}`,
    scopes: ['exec:notebook'] as ['exec:notebook'],
    groups: [group],
  }))
  const parsed = parseTokens(formatTokens({ tokens }))
  expect(parsed).toHaveProperty('tokens.length', 300)
})
