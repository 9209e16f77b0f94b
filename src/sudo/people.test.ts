import { expect, test } from 'vitest'
import { somebodyOf } from './people.ts'

const templates = { usernameTemplate: 'idp:{username}', groupTemplate: 'g-{group}' }
const caller = (username: string, ...groups: string[]) => ({ username, groups: groups.map(name => ({ name })) })

test('somebodyOf fills both templates', () => {
  expect(somebodyOf(caller('ann', 'a', 'b'), templates)).toEqual({ username: 'idp:ann', groups: ['g-a', 'g-b'] })
})

test('somebodyOf takes names as they are when they contain what has a meaning elsewhere', () => {
  expect(somebodyOf(caller('$&{username}'), templates)?.username).toBe('idp:$&{username}')
})

test('somebodyOf knows nobody when there is no template for names', () => {
  expect(somebodyOf(caller('ann'), { groupTemplate: '{group}' })).toBeUndefined()
})

test('somebodyOf knows no groups when there is no template for them', () => {
  expect(somebodyOf(caller('ann', 'a'), { usernameTemplate: '{username}' })).toEqual({ username: 'ann', groups: [] })
})

test.each(['system:admin', 'a\u0000', 'a\u202eb', 'a'.repeat(257), ''])(
  'somebodyOf knows nobody of the name %j',
  name => {
    expect(somebodyOf(caller(name), { usernameTemplate: '{username}' })).toBeUndefined()
  },
)

test('somebodyOf leaves out groups of the cluster itself', () => {
  const groups = somebodyOf(caller('ann', 'system:masters', 'a'), { ...templates, groupTemplate: '{group}' })?.groups
  expect(groups).toEqual(['a'])
})
