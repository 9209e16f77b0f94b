import { expect, test } from 'vitest'
import { factOf } from '../reconcile/facts.ts'
import { eligibleAs, rolesOf } from './roles.ts'
import { account, group, lnamespace, settingsOf, user } from './testing/world.ts'
import { tenantWatches } from './watches.ts'

const nowMs = Date.parse('2026-01-01T00:00:00Z')
const spec = {
  users: [user('ada'), group('devs'), account('ci', 'robot')],
  managers: [user('max')],
  sudoers: [user('sue')],
  sudo: { eligible: [group('oncall')] },
}
const status = { grants: [{ id: '1', user: 'tom', until: '2026-01-01T00:10:00Z', as: group('oncall') }] }

const tenant = (declared: object = { spec, status }) =>
  factOf(lnamespace('a', declared), tenantWatches.lnamespaces.paths)

function roles(username: string, groups: readonly string[] = [], fact = tenant()): string[] {
  const found = rolesOf(fact, { username, groups }, settingsOf(), nowMs)
  return Object.entries(found).flatMap(([name, is]) => (is ? [name] : []))
}

test.each([
  ['ada', [], ['isUser', 'isMember']],
  ['gus', ['devs'], ['isUser', 'isMember']],
  ['system:serviceaccount:ci:robot', [], ['isUser', 'isMember']],
  ['max', [], ['isManager']],
  ['sue', [], ['isSudoer', 'isMember']],
  ['tom', [], ['isSudoer', 'isMember']],
  ['ann', ['oncall'], ['isEligible']],
  ['eve', ['ada', 'a-sudoers'], []],
  ['devs', [], []],
  ['robot', [], []],
])('rolesOf says of %s in %j %j', (username, groups, expected) => {
  expect(roles(username, groups)).toEqual(expected)
})

test.each([
  ['there is none', undefined],
  ['it is being deleted', tenant({ spec, metadata: { deletionTimestamp: 'now' } })],
  ['it is not accepted', tenant({ spec: { ...spec, managers: [user('system:x')] } })],
])('rolesOf knows nobody of a tenant when %s', (_, fact) => {
  const found = rolesOf(fact, { username: 'ada', groups: [] }, settingsOf(), nowMs)
  expect(Object.values(found)).not.toContain(true)
})

test.each([
  ['by name', [group('oncall'), user('ann')], 'ann', user('ann')],
  ['by a group', [user('max'), group('oncall')], 'ann', group('oncall')],
  ['as an account of a namespace', [account('ci', 'robot')], 'system:serviceaccount:ci:robot', undefined],
  ['as nobody', [group('others'), user('oncall')], 'ann', undefined],
])('eligibleAs finds the entry %s', (_, eligible, username, expected) => {
  const entry = eligibleAs(eligible as Parameters<typeof eligibleAs>[0], { username, groups: ['oncall'] })
  expect(entry).toEqual(expected)
})
