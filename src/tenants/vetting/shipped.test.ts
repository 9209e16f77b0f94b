/** The vetted state has what our own components give: a new rule there must be vetted too. */
import { expect, test } from 'vitest'
import { appsObjects } from '../../../dev/kube/apps.ts'
import { tenantsObjects } from '../../../dev/kube/tenants.ts'
import { rightsOf, vettedRoles } from './state.ts'
import { vettedFor } from './vetted.ts'

test.each(['1.35', '1.36'])('the rights that the components aggregate are vetted for %s', async version => {
  const vetted = (await vettedFor([])(version))!
  const objects = [...(await tenantsObjects()), ...(await appsObjects())]
  let found = 0
  for (const { metadata, ...object } of objects) {
    for (const role of vettedRoles) {
      const label = `rbac.authorization.k8s.io/aggregate-to-${role.replace('skylab:', '')}`
      if (metadata.labels?.[label] !== 'true') continue
      expect(vetted.roles[role].from).toContain(metadata.name)
      for (const [place, verbs] of Object.entries(rightsOf(object as never))) {
        found += 1
        expect([place, vetted.roles[role].rights[place]?.split(' ')]).toEqual([
          place,
          expect.arrayContaining(verbs.split(' ')),
        ])
      }
    }
  }
  expect(found).toBeGreaterThan(5)
})
