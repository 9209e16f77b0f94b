import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  editName,
  escaped,
  selfName,
  sudoGroup,
  sudoName,
  tenantOfGroup,
  tenantOfName,
  unescaped,
  userOfName,
} from './names.ts'

const anyName = fc.oneof(
  fc.string({ unit: 'grapheme', minLength: 1 }),
  fc.string({ unit: fc.constantFrom('=', '2', '3', '5', 'F', 'D', '/', '%', 'a', '.'), minLength: 1 }),
)

test.each([
  ['ada', 'ada'],
  ['a.b@x', 'a.b@x'],
  ['a-b@x', 'a-b@x'],
  ['corp/ada', 'corp=2Fada'],
  ['50%', '50=25'],
  ['a=b', 'a=3Db'],
  ['=2F', '=3D2F'],
])('escaped makes of %s the name %s', (name, text) => {
  expect(escaped(name)).toBe(text)
  expect(unescaped(text)).toBe(name)
})

test('escaped is injective, and makes names that RBAC accepts', () => {
  fc.assert(
    fc.property(anyName, anyName, (a, b) => {
      expect(escaped(a)).not.toMatch(/[/%]/)
      expect(unescaped(escaped(a))).toBe(a)
      expect(escaped(a) === escaped(b)).toBe(a === b)
    }),
  )
})

test.each(['a/b', 'a%b', 'a=2f', 'a=41', 'a='])(
  'unescaped knows nothing of %s, which is no result of escaped',
  text => {
    expect(unescaped(text)).toBeUndefined()
  },
)

test('each name leads back to its tenant or user', () => {
  fc.assert(
    fc.property(anyName, name => {
      expect(userOfName(selfName(name))).toBe(name)
      expect(tenantOfName(selfName(name))).toBeUndefined()
    }),
  )
  for (const name of ['a', 'a-sudoers', 'lns']) {
    expect([tenantOfName(editName(name)), tenantOfName(sudoName(name)), tenantOfGroup(sudoGroup(name))]).toEqual([
      name,
      name,
      name,
    ])
    expect(userOfName(editName(name))).toBeUndefined()
  }
  expect([tenantOfGroup('-sudoers'), tenantOfGroup('admins'), userOfName('lns:self:')]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})
