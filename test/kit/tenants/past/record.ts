/** Records a past of tenants: brings LNamespaces into every state that a release can leave, and reads all objects. */

import { join } from 'node:path'
import { bundle } from '../../../../dev/image/bundle.ts'
import type { KubeObject } from '../../../../src/base/domain.ts'
import { eventually } from '../../cluster/world.ts'
import { TenantsDeployment } from '../deployment.ts'
import { group, lnamespace, user } from '../objects.ts'
import { TenantsSite } from '../site.ts'
import { asRecorded, isTenant, tenantObjects } from './cluster.ts'
import type { TenantsPast } from './files.ts'
import { grants } from './grants.ts'

export const pastInstallation = 'past'
const [ada, max, sue] = ['ada', 'max', 'sue'].map(user)
const odd = ['Ada=B/C%2F:d@example.org', 'a.b@x', 'a-b@x', 'лёва'].map(user)
const robot = { kind: 'ServiceAccount', namespace: 'default', name: 'robot' }

/** Named after their state. */
const specs: Readonly<Record<string, object>> = {
  usual: { users: [ada], managers: [max], sudoers: [sue] },
  // Its sudoer is that of another one too.
  shared: { users: [], managers: [], sudoers: [sue] },
  empty: { users: [], managers: [], sudoers: [] },
  // Its requester becomes its sudoer.
  plain: {},
  odd: { users: [...odd, robot, group('devs')], managers: [robot, ...odd], sudoers: odd },
  crowded: { users: Array.from({ length: 20 }, (_, index) => user(`p${index}`)), managers: [max], sudoers: [ada] },
  bounded: {
    ...{ users: [ada], managers: [max], sudoers: [sue], istioRevision: 'canary', preventDeletion: true },
    namespaceLabelOverrides: { 'team.example.org/x': 'y', 'closed.example.org/x': 'y' },
    billing: { 'cost-centre': '4711' },
    platform: {
      ...{ podSecurity: 'restricted', quota: { pods: 5, 'requests.cpu': '1500m' } },
      limits: { max: { cpu: '2' }, default: { memory: '1Gi' } },
    },
  },
  open: { users: [ada], managers: [], sudoers: [sue], platform: { network: 'open' }, sudo: { eligible: [ada] } },
  // Another's Namespace has its name.
  conflict: { users: [ada], managers: [max], sudoers: [sue] },
}

/** @param name of the release */
export async function recordTenants(name: string): Promise<TenantsPast> {
  const site = await TenantsSite.start(pastInstallation)
  const program = await bundle({ dir: join(site.stateDir, 'program') })
  const deployment = await TenantsDeployment.start(site, { installation: pastInstallation, release: { program } })
  try {
    await site.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'conflict' } })
    for (const [tenant, spec] of Object.entries(specs)) await site.create(lnamespace(tenant, spec))
    const states = async () => {
      const tenants = (await tenantObjects(site.kube)).filter(isTenant)
      return tenants.map(object => [object.metadata.name, reasonOf(object)] as const)
    }
    const isDone = async () =>
      (await states()).every(([tenant, reason]) => reason === (tenant === 'conflict' ? 'Conflict' : 'Ready'))
    await eventually('the states of the past', isDone)
    await deployment.stop()
    const objects = await tenantObjects(site.kube)
    const definition = await site.read({
      ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
      metadata: { name: 'lnamespaces.gial.lblw.dev' },
    })
    const foreign = await site.read({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'conflict' } })
    const { apiVersion, kind, metadata, spec } = definition
    return {
      name,
      definition: { apiVersion, kind, metadata: { name: metadata.name }, spec },
      objects: [...objects, foreign].map(asRecorded),
      granted: await grants(site.kube, objects.filter(isTenant)),
    }
  } finally {
    await deployment.stop()
    await site.close()
  }
}

const reasonOf = ({ status }: KubeObject): string | undefined =>
  (status as { conditions?: readonly { type: string; reason: string }[] } | undefined)?.conditions?.find(
    ({ type }) => type === 'Ready',
  )?.reason
