import { expect, test } from 'vitest'
import { factOf } from '../reconcile/facts.ts'
import { hasNamespace, isServed, mayBeGroup, membersOf, tenantWatch } from './members.ts'

const accepted = { namespaceUID: 'ns', conditions: [{ type: 'Accepted', status: 'True' }] }
const spec = {
  users: [
    { kind: 'User', name: 'eve' },
    { kind: 'Group', name: 'physicists' },
    { kind: 'ServiceAccount', namespace: 'ci', name: 'robot' },
    { kind: 'User', name: 'ada' },
  ],
  managers: [{ kind: 'User', name: 'max' }],
  sudoers: [
    { kind: 'User', name: 'ada' },
    { kind: 'User', name: 'sue' },
  ],
}
const fact = (status: object = accepted, more: object = {}) =>
  factOf(
    {
      ...{ apiVersion: tenantWatch.apiVersion, kind: tenantWatch.kind, spec, status },
      metadata: { name: 'physics', uid: 'u', generation: 3, creationTimestamp: '2026-01-01T00:00:00Z', ...more },
    },
    tenantWatch.paths,
  )

test('membersOf has users and sudoers once each, in order, without managers and accounts of programs', () => {
  const createdMs = Date.parse('2026-01-01T00:00:00Z')
  const names = { users: ['ada', 'eve', 'sue'], groups: ['physicists'] }
  expect(membersOf(fact())).toEqual({ uid: 'u', generation: 3, createdMs, ...names })
})

test.each([
  ['it is not accepted', { ...accepted, conditions: [{ type: 'Accepted', status: 'False' }] }, {}],
  ['it has no namespace', { conditions: accepted.conditions }, {}],
  ['it is being deleted', accepted, { deletionTimestamp: '2026-01-02T00:00:00Z' }],
  ['nobody has told about it', {}, {}],
])('membersOf is nobody when %s', (_, status, metadata) => {
  const of = fact(status, metadata)
  expect([isServed(of), membersOf(of).users, membersOf(of).groups]).toEqual([false, [], []])
})

test('an LNamespace that is refused after it had its namespace is a group still, of nobody', () => {
  expect(hasNamespace(fact({ namespaceUID: 'ns', conditions: [] }))).toBe(true)
})

const volumes = { volumes: [], quota: {} }
test.each([
  ['no group has its name', {}, true],
  ['the group of its name has its namespace', { physics: { namespace: 'physics', ...volumes } }, true],
  ['the group of its name has another namespace', { physics: { namespace: 'phys', ...volumes } }, false],
])('mayBeGroup when %s', (_, groups, expected) => {
  expect(mayBeGroup('physics', groups)).toBe(expected)
})
