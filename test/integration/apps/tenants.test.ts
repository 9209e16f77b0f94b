/**
 * LNamespaces as groups of apps, on a cluster of their own: a process that serves tenants makes the namespace, and one that serves
 * apps has an app there, whose members are those of the LNamespace.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keepRights } from '../../../dev/kube/rights.ts'
import { appParent } from '../../../src/apps/words.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { tenantParent } from '../../../src/tenants/words.ts'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { application } from '../../kit/apps/objects.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { user } from '../../kit/tenants/objects.ts'
import { startOwnBed } from '../../kit/tenants/own-bed.ts'
import { TenantFleet } from '../tenants/tenant-fleet.ts'

let bed: Awaited<ReturnType<typeof startOwnBed>>
let tenants: TenantFleet
let fleet: AppFleet

beforeAll(async () => {
  bed = await startOwnBed({ audit: true })
  tenants = await TenantFleet.start(1, {}, bed)
  fleet = await AppFleet.start({ replicas: 1, groups: [], bed })
})
afterAll(async () => {
  await Promise.all([fleet?.stop(), tenants?.stop()])
  if (bed) await keepRights(bed.auditLog, 'apps')
  await bed?.close()
})

const membersOf = async (group: string) => (await fleet.members()).members.get(group)?.users

test('an app of a tenant is made in its namespace, for its people, and goes with it', async () => {
  const name = await tenants.make({ users: [user('ann'), user('bob')], sudoers: [user('sue')] })
  await eventually('it is a group', async () => `${await membersOf(name)}` === 'ann,bob,sue')
  const path = creationPath(appParent.apiVersion, appParent.kind, name)
  await fleet.must('POST', path, application(name, 'blue'))
  const deployment = `/apis/apps/v1/namespaces/${name}/deployments/app-blue`
  await eventually('the app is made', async () => (await fleet.kube.request('GET', deployment)).status === 200)
  const tenant = objectPath({ ...tenantParent, name })
  await fleet.must('PATCH', tenant, { spec: { users: [user('ann')] } })
  await eventually('bob is out', async () => `${await membersOf(name)}` === 'ann,sue')
  await fleet.must('DELETE', tenant)
  await eventually('nobody is in', async () => (await membersOf(name)) === undefined)
})

test('an app in a namespace that only bears the name of a tenant is of no group', async () => {
  await fleet.namespace(`${fleet.name}-alone`)
  const path = creationPath(appParent.apiVersion, appParent.kind, `${fleet.name}-alone`)
  await fleet.must('POST', path, application(`${fleet.name}-alone`, 'red'))
  await eventually('it is told', async () => {
    const { body } = await fleet.kube.request('GET', `${path}/red`)
    return body.status?.message === 'WrongGroup: no group has apps in this namespace'
  })
})

// About all that was sent before.
test('no request of the process was refused, but the one that asks for the policy', () => {
  const sent = fleet.log().filter(({ msg }) => msg === 'kubernetes request')
  expect(sent.length).toBeGreaterThan(10)
  const refused = sent.filter(({ code }) => code === '403').map(({ verb, resource }) => `${verb} ${resource}`)
  expect(new Set(refused)).toEqual(new Set(['create deployments']))
})
