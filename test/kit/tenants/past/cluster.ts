/** The objects of tenants in a cluster: as they stand, and made again under new UIDs. */
import type { KubeObject } from '../../../../src/base/domain.ts'
import { collectionPath } from '../../../../src/kube/kinds.ts'
import { tenantWatches } from '../../../../src/tenants/watches.ts'
import { tenantLabels, tenantParent } from '../../../../src/tenants/words.ts'
import type { AdminKube } from '../../cluster/kube.ts'
import { controller, make, type TenantsSite } from '../site.ts'

const { lnamespaces, namespaces, ...others } = tenantWatches
const kinds = [lnamespaces, namespaces, ...Object.values(others)]
export const administrator = { name: 'admin', groups: ['system:masters'] }
const isOurs = ({ metadata }: KubeObject) => metadata.labels?.[tenantLabels.installation] !== undefined

/** All LNamespaces, and the objects with our label; LNamespaces come first, then Namespaces. */
export async function tenantObjects(kube: AdminKube): Promise<readonly KubeObject[]> {
  const lists = await Promise.all(
    kinds.map(async ({ apiVersion, kind }) => {
      const items = await kube.list(collectionPath(apiVersion, kind))
      const ours = kind === tenantParent.kind ? items : items.filter(isOurs)
      return ours.map(item => ({ ...item, apiVersion, kind }))
    }),
  )
  return lists.flat()
}

export const isTenant = ({ kind }: KubeObject): boolean => kind === tenantParent.kind

const nameOf = ({ kind, metadata: { namespace, name } }: KubeObject) =>
  [kind, namespace, name].filter(Boolean).join(' ')

/** UID and version of each object but LNamespaces, and what people declared in those: none of it may change. */
export const written = (objects: readonly KubeObject[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    objects.map(object => {
      const { uid, resourceVersion, generation } = object.metadata
      return [nameOf(object), isTenant(object) ? [uid, generation, object.spec] : [uid, resourceVersion]]
    }),
  )

/** Without what a server adds. */
const fields = ['name', 'namespace', 'uid', 'labels', 'annotations', 'ownerReferences'] as const

export function asRecorded({ apiVersion, kind, metadata, ...content }: KubeObject): KubeObject {
  const kept = fields.flatMap(field => (metadata[field] === undefined ? [] : [[field, metadata[field]]]))
  const { status, ...rest } = content as { readonly status?: object }
  const object = { apiVersion, kind, metadata: Object.fromEntries(kept) as KubeObject['metadata'], ...rest }
  return kind === tenantParent.kind ? { ...object, ...(status && { status }) } : object
}

/** Makes recorded objects, as the administrator and the controller did. */
export async function makeAgain(site: TenantsSite, objects: readonly KubeObject[]): Promise<void> {
  const uids = new Map<string, string>()
  const today = (object: KubeObject): KubeObject =>
    JSON.parse([...uids].reduce((text, [before, now]) => text.replaceAll(before, now), JSON.stringify(object)))
  const again = async (object: KubeObject, sender: typeof administrator | typeof controller) => {
    const { metadata, status: _, ...content } = today(object)
    const { uid: __, ...kept } = metadata
    const made = await site.must(sender, make({ ...content, metadata: kept } as KubeObject))
    uids.set(object.metadata.uid!, made.metadata.uid!)
  }
  const of = (wanted: (object: KubeObject) => boolean) => objects.filter(wanted)
  const isNamespace = ({ kind }: KubeObject) => kind === 'Namespace'
  // Admission notes the requester itself.
  for (const { metadata, ...object } of of(isTenant)) {
    const { annotations: _, ...kept } = metadata
    await again({ ...object, metadata: kept } as KubeObject, administrator)
  }
  for (const object of of(isNamespace)) await again(object, isOurs(object) ? controller : administrator)
  for (const object of of(each => !isTenant(each) && !isNamespace(each))) await again(object, controller)
  for (const object of of(isTenant)) {
    const path = `${collectionPath(tenantParent.apiVersion, tenantParent.kind)}/${object.metadata.name}/status`
    await site.must(administrator, { method: 'PATCH', path, body: { status: today(object).status } })
  }
}
