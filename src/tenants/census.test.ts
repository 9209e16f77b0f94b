import { afterEach, beforeEach, expect, test } from 'vitest'
import { countTenants } from './census.ts'
import { Tenants } from './testing/replicas.ts'
import { user } from './testing/world.ts'

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

test('countTenants counts conditions, grants, and sudo that nothing gives any more', async () => {
  const { world } = tenants.replica()
  const count = () => countTenants(world, tenants.clock.wallMs())
  const until = new Date(tenants.clock.wallMs() + 60_000).toISOString()
  tenants.declare('a', {
    spec: { sudoers: [user('sue')], sudo: { eligible: [user('ann')] } },
    status: { grants: [{ user: 'ann', until }] },
  })
  tenants.declare('kube-system', {})
  await tenants.pass()
  expect(count()).toEqual({
    conditions: { Exists: 2, Accepted: 1, NamespaceReady: 1, AccessReady: 1, Ready: 1 },
    ...{ grants: 1, overdue: 0 },
  })
  await tenants.stop()
  tenants.clock.advance(60_000)
  tenants.declare('a', { spec: { sudoers: [], sudo: { eligible: [user('ann')] } } })
  expect(count()).toMatchObject({ grants: 0, overdue: 2 })
})
