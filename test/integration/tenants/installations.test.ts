/**
 * Two installations that both serve tenants, on one cluster. LNamespaces are one set: the ClusterRole `skylab-tenants-settings`
 * names the installation that serves them, and the other one writes nothing.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { settingsRole } from '../../../src/tenants/settings.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { type AuditedRequest, AuditLog } from '../../kit/evidence/audit.ts'
import { builtProgram } from '../../kit/program/program.ts'
import { TenantsDeployment } from '../../kit/tenants/deployment.ts'
import { lnamespace, pathOf, user } from '../../kit/tenants/objects.ts'
import { TenantsSite } from '../../kit/tenants/site.ts'
import { testBed } from '../../kit/testbed.ts'

const [first, second] = ['skylab', 'observatory'] as const
const words = 'another installation serves the tenants of this cluster'
const role = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${settingsRole}`

let site: TenantsSite
let audit: AuditLog
let ours: TenantsDeployment
let theirs: TenantsDeployment
beforeAll(async () => {
  site = await TenantsSite.start(first, { audit: true })
  audit = new AuditLog(site.cluster.auditLog)
  const release = builtProgram(testBed().stateDir)
  ours = await TenantsDeployment.start(site, { installation: first, release })
  theirs = await TenantsDeployment.start(site, { installation: second, release, replicas: 1, untilReady: false })
})
afterAll(async () => {
  await Promise.all([ours?.stop(), theirs?.stop()])
  await site?.close()
})

const admin = { name: 'admin', groups: ['system:masters'] }
const edit = (name: string, spec: object) =>
  site.must(admin, { method: 'PATCH', path: pathOf('LNamespace', name), body: { spec } })
const isReady = async (name: string) => {
  const { metadata, status } = await site.read(lnamespace(name))
  const conditions: { type: string; status: string; observedGeneration: number }[] = status?.conditions ?? []
  return conditions.some(
    each => each.type === 'Ready' && each.status === 'True' && each.observedGeneration === metadata.generation,
  )
}
const say = async (deployment: TenantsDeployment) => (await deployment.readiness()).every(text => text.includes(words))

/** Writes in the audit log, without dry runs and questions. */
async function writesOf(process: (replica: string | undefined) => boolean) {
  const verbs = ['create', 'update', 'patch', 'delete']
  const all = await audit.all()
  const isWrite = ({ verb, dryRun, resource }: AuditedRequest) =>
    verbs.includes(verb) && !dryRun && !resource.endsWith('reviews')
  return all.filter(each => isWrite(each) && process(each.replica))
}

/** Gives all tenants of the cluster to an installation, as an operator does who applies its rights. */
async function giveTo(installation: string) {
  const { body } = await site.kube.request('GET', role)
  const rules = (body.rules as { resources: string[] }[]).map(rule =>
    rule.resources[0] === 'installations' ? { ...rule, resourceNames: [installation] } : rule,
  )
  await site.must(admin, { method: 'PATCH', path: role, body: { rules } })
}

test('an installation writes nothing, and says why, when the settings name another one', async () => {
  await eventually('the other one knows', () => say(theirs))
  for (const name of ['blue', 'green', 'gone'])
    await site.create(lnamespace(name, { users: [user('ada')], sudoers: [user('sue')] }))
  for (const name of ['blue', 'green', 'gone']) await eventually(`${name} is ready`, () => isReady(name))
  await edit('blue', { users: [user('eve')], sudoers: [user('max')] })
  await eventually('blue is ready again', () => isReady('blue'))
  await site.must(admin, {
    method: 'DELETE',
    path: pathOf('LNamespace', 'gone'),
    body: { propagationPolicy: 'Background' },
  })
  await eventually(
    'the role of the one that is gone',
    async () => (await site.kube.request('GET', pathOf('ClusterRole', 'lns:edit:gone'))).status === 404,
  )
  expect(await theirs.writes()).toBe(0)
  expect(await writesOf(replica => replica === 'observatory-1')).toEqual([])
  expect((await writesOf(replica => replica?.startsWith('skylab-') ?? false)).length).toBeGreaterThan(30)
})

test('an installation writes nothing more, and the other one begins, when the settings give it the tenants', async () => {
  await giveTo(second)
  await eventually('the first one knows', () => say(ours))
  const count = await ours.writes()
  await theirs.ready()
  await site.create(lnamespace('red', { users: [user('ada')] }))
  await eventually('red is ready', () => isReady('red'))
  expect(await ours.writes()).toBe(count)
})
