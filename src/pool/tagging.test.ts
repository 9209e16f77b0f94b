import { expect, test } from 'vitest'
import { tagNames } from '../dispatch/tags.ts'
import { Tagging } from './tagging.ts'

const names = tagNames('Arvados')
const tagging = (secrets?: 'plain' | 'hmac') =>
  new Tagging({ names, sets: ['ours'], types: new Map(), ...(secrets && { secrets }) })
const marked = `hmac-sha256:${'a'.repeat(64)}`

test.each([
  ['plain', 'abc', { secret: 'abc' }],
  ['plain', marked, { digest: marked }],
  ['hmac', marked, { digest: marked }],
  ['hmac', 'abc', { digest: '' }],
  ['hmac', '', { digest: '' }],
] as const)('with %s, a machine with the tag %j proves itself by %j', (mode, tag, plan) => {
  expect(tagging(mode).planOf({ [names.instanceSecret]: tag })).toEqual(plan)
})
