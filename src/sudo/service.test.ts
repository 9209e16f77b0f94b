import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Identity } from '../base/domain.ts'
import { Tenants } from '../tenants/testing/replicas.ts'
import { group, user } from '../tenants/testing/world.ts'
import { TenantService } from './service.ts'
import { Sudo } from './sudo.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const rest = { usernameTemplate: '{username}', groupTemplate: '{group}' }
const spec = { users: [user('ada')], sudo: { eligible: [group('oncall')], maxSeconds: 600 } }
const caller = (username: string, ...groups: string[]): Identity => ({
  ...{ username, token: '', scopes: [] },
  groups: groups.map(name => ({ name })),
})

function serviceOf(templates: object = rest, isSynced = true) {
  const { world } = tenants.replica()
  const common = { world, rest: templates, clock: tenants.clock }
  const sudo = new Sudo({ ...common, kube: tenants.api.client, onWritten: () => {} })
  return new TenantService({ ...common, sudo, isSynced: () => isSynced, openEvents: async () => null })
}

test('list shows every LNamespace to everybody, by name, with the roles of the caller', async () => {
  const service = serviceOf()
  await tenants.made('b', spec)
  await tenants.made('a', { users: [user('eve')] })
  tenants.declare('kube-x', { spec })
  await tenants.pass()
  const shown = (who: Identity) =>
    service.list(who).map(({ name, ready, reason, roles }) => [name, ready, reason, roles])
  expect(shown(caller('ada', 'oncall'))).toEqual([
    ['a', true, 'Ready', []],
    ['b', true, 'Ready', ['user', 'eligible']],
    ['kube-x', false, 'Reserved', []],
  ])
  expect(shown(caller('eve'))[0]).toEqual(['a', true, 'Ready', ['user']])
})

test('find shows people and grants only to callers with a role, and to each his own grant', async () => {
  const service = serviceOf()
  await tenants.made('a', spec)
  const { id } = await service.grant('a', caller('oda', 'oncall'), { ttlSeconds: 60, reason: 'r' })
  await tenants.pass()
  expect(service.find('a', caller('ada'))).toMatchObject({
    ...{ maxSeconds: 600, sudoGroup: 'a-sudoers', roles: ['user'] },
    grants: [{ id, user: 'oda', reason: 'r', effective: true }],
    people: { users: [user('ada')], eligible: [group('oncall')] },
  })
  const outside = service.find('a', caller('eve'))
  expect(outside?.grants).toEqual([])
  expect(outside).not.toHaveProperty('people')
  expect(service.find('a', caller('oda'))).toMatchObject({ roles: ['sudoer'], grants: [{ id }] })
  expect(service.find('none', caller('eve'))).toBeUndefined()
})

test('find knows nobody when no template is set', async () => {
  const service = serviceOf({})
  await tenants.made('a', spec)
  expect(service.find('a', caller('ada', 'oncall'))).toMatchObject({ roles: [], grants: [] })
})

test('every answer is 503 until the watches show the cluster', async () => {
  const service = serviceOf(rest, false)
  const who = caller('ada')
  const unknown = expect.objectContaining({ status: 503 })
  expect(() => service.list(who)).toThrow(unknown)
  expect(() => service.find('a', who)).toThrow(unknown)
  await expect(service.grant('a', who, { ttlSeconds: 1, reason: 'r' })).rejects.toEqual(unknown)
  await expect(service.end('a', who)).rejects.toEqual(unknown)
  expect(() => service.events('a', undefined, new AbortController().signal)).toThrow(unknown)
})
