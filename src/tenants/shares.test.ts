/** Ends of rights that only the controller brings about, beside many that the garbage collector brings about too. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Tenants } from './testing/replicas.ts'
import { user } from './testing/world.ts'

const deleted = 60

let tenants: Tenants
beforeEach(() => {
  tenants = new Tenants()
})
afterEach(() => tenants.stop())

const selfRights = () => tenants.names().filter(name => name.startsWith('ClusterRoleBinding lns:self:')).length

test('a removal passes the ends of many deleted tenants', async () => {
  tenants.replica()
  const names = Array.from({ length: deleted }, (_, i) => `gone-${i}`)
  for (const name of names) tenants.declare(name, { spec: { sudoers: [user(`sue-${name}`)] } })
  tenants.declare('old', { spec: { sudoers: [user('ada'), user('eve')] } })
  await tenants.pass(10_000)
  expect(selfRights()).toBe(deleted + 2)
  tenants.api.onWrite = () => tenants.clock.sleep(100)
  for (const name of names) tenants.drop(name)
  await tenants.pass(100)
  tenants.declare('old', { spec: { sudoers: [user('ada')] } })
  await tenants.pass(1_000)
  expect(tenants.subjects('ClusterRoleBinding', 'lns:sudo:old')).toEqual(['ada'])
  expect(tenants.subjects('ClusterRoleBinding', 'lns:self:eve')).toBeUndefined()
  expect(selfRights()).toBeGreaterThan(deleted / 2)
  await tenants.pass(30_000)
  expect(selfRights()).toBe(1)
})
