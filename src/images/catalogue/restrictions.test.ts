import { expect, it } from 'vitest'
import { permittedTags } from './restrictions.ts'

const restrictions = [
  { tags: ['exp_*', 'd_*'], groups: ['devs', 'staff'] },
  { tags: ['exp_secret*'], groups: ['staff'] },
]
const groups = (...names: string[]) => names.map(name => ({ name }))

it.each([
  [[], 'w_2026_02', true],
  [[], 'exp_a', false],
  [[], 'd_2026_01_01', false],
  [['devs'], 'd_2026_01_01', true],
  [['devs'], 'exp_a', true],
  [['devs'], 'exp_secret_a', false],
  [['other'], 'exp_a', false],
] as const)('permittedTags for members of %j and %s is %s', (names, tag, may) => {
  expect(permittedTags(restrictions, groups(...names))!(tag)).toBe(may)
})

it('permittedTags returns undefined when nothing is restricted for the user', () => {
  expect(permittedTags(restrictions, groups('staff'))).toBeUndefined()
  expect(permittedTags([], [])).toBeUndefined()
})

it('permittedTags matches whole tags, with only * special', () => {
  const may = permittedTags([{ tags: ['w.1', 'a*z'], groups: ['staff'] }], [])!
  expect(['w.1', 'wx1', 'xw.1', 'az', 'abz', 'azb'].filter(tag => !may(tag))).toEqual(['w.1', 'az', 'abz'])
})
