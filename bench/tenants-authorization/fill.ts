/** Tenants without their LNamespaces: the namespaces, roles and bindings that authorization looks at. */

import { TenantObjects } from '../../test/kit/tenants/objects.ts'
import { make } from '../../test/kit/tenants/site.ts'
import type { Scene } from './scene.ts'

/** Requests on their way at once. */
const lanes = 16

export const tenantName = (index: number) => `tenant-${index}`

/** Makes tenants from one index up to another, each with a sudoer of its own; resolves with the number of objects. */
export async function makeTenants({ kube, signal }: Scene, from: number, to: number): Promise<number> {
  let next = from
  let made = 0
  const lane = async () => {
    for (let index = next++; index < to && !signal.aborted; index = next++) {
      for (const object of objectsOf(index)) {
        const { path, body } = make(object)
        const { status, body: answer } = await kube.request('POST', path, body)
        if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${answer.message}`)
        made++
      }
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return made
}

/** Without owners, which the garbage collector would miss. */
function objectsOf(index: number) {
  const name = tenantName(index)
  const one = { user: `user-${index}`, manager: `manager-${index}`, sudoer: `sudoer-${index}@example.org` }
  const isAuthorized = new Set(['Namespace', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'])
  return new TenantObjects(name, 'none')
    .all(one)
    .filter(({ kind }) => isAuthorized.has(kind))
    .map(
      ({ metadata: { ownerReferences, ...metadata }, ...object }) =>
        ({ ...object, metadata }) as typeof object & { metadata: typeof metadata },
    )
}
