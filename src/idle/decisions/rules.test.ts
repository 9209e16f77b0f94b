import { describe, expect, it } from 'vitest'
import { idle } from '../../config/idle.ts'
import { ruleOf } from './rules.ts'

const rulesOf = (...matches: object[]) =>
  idle.parse({ rules: matches.map((match, index) => ({ name: `r${index}`, match })) }).rules
const traits = {
  size: 'gpu-large',
  image: 'registry.example.org/lab-gpu:w_2026_30',
  user: 'ada',
  groups: ['staff', 'simulations'],
  namespace: 'nublado-ada',
}
const nameOf = (...matches: object[]) => ruleOf(rulesOf(...matches), 'lab', traits)?.name

describe('ruleOf', () => {
  it('finds the first rule that matches', () => {
    expect(nameOf({ users: ['grace'] }, { sizes: ['gpu-*'] }, {})).toBe('r1')
    expect(nameOf({}, { sizes: ['gpu-*'] })).toBe('r0')
    expect(nameOf({ users: ['grace'] })).toBeUndefined()
  })

  it.each([
    [{ kinds: ['lab'] }, true],
    [{ kinds: ['notebook', 'app'] }, false],
    [{ images: ['*-gpu:*'] }, true],
    [{ images: ['lab-gpu:*'] }, false],
    [{ groups: ['admins', 'simul*'] }, true],
    [{ groups: ['admins'] }, false],
    [{ namespaces: ['nublado-*'] }, true],
    [{ sizes: ['gpu-*'], users: ['grace'] }, false],
    [{ sizes: ['gpu-*'], users: ['a*'], groups: ['staff'] }, true],
  ])('needs all patterns to match: %j', (match, isMatch) => {
    expect(nameOf(match)).toBe(isMatch ? 'r0' : undefined)
  })

  it('takes an absent property for one that matches no pattern', () => {
    for (const match of [{ tenants: ['*'] }, { sizes: ['*'] }, { groups: ['*'] }]) {
      expect(ruleOf(rulesOf(match), 'notebook', { namespace: 'n' })).toBeUndefined()
    }
  })
})
