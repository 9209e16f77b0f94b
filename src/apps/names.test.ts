import fc from 'fast-check'
import { expect, it } from 'vitest'
import { groupLabel, groupOfLabel, isAppId } from './names.ts'

it.each([
  ['phusers', 'escaped-phusers'],
  ['Physics & more', 'escaped--50hysics-20-26-20more'],
  ['a-b', 'escaped-a-2db'],
  ['🔭', 'escaped--f0-9f-94-ad'],
  ['..', 'escaped--2e-2e'],
])('groupLabel escapes each byte of %s but letters and digits', (group, label) => {
  expect(groupLabel(group)).toBe(label)
})

it('groupLabel gives the value of a label, which groupOfLabel reads where it is not a hash', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, maxLength: 80, unit: 'binary' }), text => {
      const group = text.toWellFormed()
      const label = groupLabel(group)
      expect(label).toMatch(/^[a-z0-9][-a-z0-9]{0,61}[a-z0-9]$/)
      expect(groupOfLabel(label)).toBe(label.startsWith('hashed-') ? undefined : group)
    }),
  )
})

it('groupLabel gives long names different values', () => {
  const [one, other] = [groupLabel(`${'g'.repeat(200)}1`), groupLabel(`${'g'.repeat(200)}2`)]
  expect(one).not.toBe(other)
})

it.each(['phusers', 'escaped-', 'escaped-A', 'escaped--6', 'escaped--61', 'escaped--ff', 'hashed-00'])(
  'groupOfLabel reads nothing in %s',
  label => {
    expect(groupOfLabel(label)).toBeUndefined()
  },
)

it.each([
  ['a', true],
  ['mlflow-xyzab', true],
  ['a'.repeat(50), true],
  ['a'.repeat(51), false],
  ['1a', false],
  ['a-', false],
  ['a.b', false],
  ['A', false],
  ['a\n', false],
  ['', false],
])('isAppId says of %j: %s', (name, is) => {
  expect(isAppId(name)).toBe(is)
})
