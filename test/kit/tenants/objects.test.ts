import { expect, test } from 'vitest'
import type { KubeObject } from '../../../src/base/domain.ts'
import { people, Tenants } from '../../../src/tenants/testing/replicas.ts'
import { TenantObjects } from './objects.ts'

/** Labels that the policies read. The type of a role is for people. */
function shape({ kind, metadata, rules, roleRef, subjects }: KubeObject) {
  const { name, namespace, ownerReferences } = metadata
  const { 'gial.lblw.dev/rbac-type': _, ...labels } = metadata.labels ?? {}
  const byKey = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
  return {
    ...{ kind, name, namespace, ownerReferences, labels, rules, roleRef },
    ...(Array.isArray(subjects) && { subjects: subjects.toSorted(byKey) }),
  }
}

test('TenantObjects makes what the controller makes of a tenant', async () => {
  const tenants = new Tenants()
  tenants.replica()
  const uid = await tenants.made('blue', {
    ...people,
    platform: { quota: { pods: 10 }, limits: { max: { cpu: '1' } } },
  })
  const made = new TenantObjects('blue', uid).all({ user: 'ada', manager: 'max', sudoer: 'sue' })
  const found = made.map(({ kind, metadata }) => tenants.get(kind, metadata.name, metadata.namespace))
  expect(made.map(shape)).toEqual(found.map(each => each && shape(each)))
  expect(tenants.names()).toHaveLength(made.length)
  await tenants.stop()
})
