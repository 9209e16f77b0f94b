import { expect, test } from 'vitest'
import { tenantWatch } from '../../apps/members.ts'
import type { KubeObject } from '../../base/domain.ts'
import { factOf } from '../../reconcile/facts.ts'
import { membership } from './membership.ts'

const names = { usernameTemplate: 'oidc:{username}', groupTemplate: 'oidc:{group}' }
const accepted = { namespaceUID: 'n', conditions: [{ type: 'Accepted', status: 'True' }] }
const spec = {
  users: [
    { kind: 'User', name: 'oidc:ann' },
    { kind: 'Group', name: 'oidc:team' },
  ],
  sudoers: [],
}

const lnamespace = (status: object): KubeObject => ({
  ...tenantWatch,
  metadata: { name: 'blue', uid: 'u', resourceVersion: '1', generation: 1 },
  ...{ spec, status },
})
function isMember(
  username: string,
  groups: readonly string[],
  group: string,
  status: object | undefined = accepted,
  more = names,
) {
  const fact = factOf(lnamespace(status), tenantWatch.paths)
  const configured = { green: { namespace: 'elsewhere', volumes: [], quota: {} } }
  const tenant = (name: string) => (name === 'blue' || name === 'green' ? fact : undefined)
  const caller = { username, groups: groups.map(name => ({ name })) }
  return membership({ groups: configured as never, names: more, tenant })(caller, group)
}

test.each([
  ['its LNamespace names the user', 'ann', [], true],
  ['it names a group of the user', 'bob', ['team'], true],
  ['it names neither, whatever the identity says', 'eve', ['blue', 'oidc:team'], false],
  ['the user is called as somebody in the cluster', 'oidc:ann', [], false],
])('membership goes by the LNamespace of the group: %s', (_, username, groups, is) => {
  expect(isMember(username, groups, 'blue')).toBe(is)
})

test.each([
  ['no LNamespace has its name', 'red', accepted],
  ['the LNamespace has no namespace', 'blue', { conditions: accepted.conditions }],
  ['the configuration has the group, in another namespace', 'green', accepted],
])('membership goes by the groups of the identity when %s', (_, group, status) => {
  expect(isMember('eve', [group], group, status)).toBe(true)
  expect(isMember('ann', [], group, status)).toBe(false)
})

test('membership has nobody when the LNamespace is not accepted, or no template says how people are called', () => {
  expect(isMember('ann', ['blue'], 'blue', { namespaceUID: 'n' })).toBe(false)
  expect(isMember('ann', ['blue'], 'blue', accepted, {} as never)).toBe(false)
})
