/** The component of tenants in a bench's cluster: definition, rights and policies, as an operator applies them. */
import type { Cluster } from '../../dev/cluster/types.ts'
import { tenantsObjects } from '../../dev/kube/tenants.ts'
import { waitUntil } from '../../dev/process/api-client.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import type { TenantsConfig } from '../../src/config/tenants.ts'
import type { AdminKube } from '../../test/kit/cluster/kube.ts'
import { account, lnamespace, TenantObjects } from '../../test/kit/tenants/objects.ts'
import { make } from '../../test/kit/tenants/site.ts'

const limitMs = 30_000
const isPolicy = ({ apiVersion }: KubeObject) => apiVersion.startsWith('admissionregistration')

/** A request as somebody, which must be a dry run. */
export interface Sent {
  readonly by: string
  readonly object: KubeObject
}

/** @returns the API server's words; undefined for an admitted object */
export async function refusalOf(kube: AdminKube, { by, object }: Sent): Promise<string | undefined> {
  const { path, body } = make(object)
  const answer = await kube.request('POST', `${path}?dryRun=All`, body, { 'Impersonate-User': by })
  return answer.status === 201 ? undefined : (answer.body.message ?? `${answer.status}`)
}

export const applyObjects = (cluster: Cluster, objects: readonly object[]): Promise<void> =>
  cluster.apply(objects.map(each => JSON.stringify(each)).join('\n---\n'))

/** Applies the definition and the rights. @returns a function that puts the policies into force */
export async function applyTenants(
  cluster: Cluster,
  kube: AdminKube,
  tenants: TenantsConfig,
  signal: AbortSignal,
): Promise<() => Promise<void>> {
  const objects = await tenantsObjects({ tenants })
  await applyObjects(cluster, [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'skylab' } }])
  await applyObjects(
    cluster,
    objects.filter(each => !isPolicy(each)),
  )
  return async () => {
    await applyObjects(cluster, objects.filter(isPolicy))
    await untilEnforced(kube, signal)
  }
}

/** Each of these is refused by one policy; the guard has no probe. */
function untilEnforced(kube: AdminKube, signal: AbortSignal): Promise<void> {
  const strange = new TenantObjects('strange', 'none').role('strange', [])
  const probes = [
    { by: 'system:probe', object: lnamespace('strange') },
    { by: 'ada', object: lnamespace('default') },
    { by: account, object: strange },
  ]
  const isRefused = async (one: Sent) => (await refusalOf(kube, one))?.includes('denied request') ?? false
  const isAdmitted = async () => (await refusalOf(kube, { by: 'ada', object: lnamespace('strange') })) === undefined
  return waitUntil(async () => (await Promise.all([...probes.map(isRefused), isAdmitted()])).every(Boolean), {
    ...{ what: 'the policies', limitMs, signal },
  })
}
