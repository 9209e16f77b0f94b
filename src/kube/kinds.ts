/**
 * API paths of each kind in use. A table, so that no request is needed for discovery. Kinds that only some processes need
 * are registered by them.
 */

/** Identifies one object. `namespace` is absent for cluster-scoped kinds. */
export interface ObjectRef {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** Where the objects of a kind are. */
export interface KindPlace {
  readonly plural: string
  readonly namespaced: boolean
}

const kinds = new Map<string, KindPlace>(
  Object.entries({
    'v1/Namespace': { plural: 'namespaces', namespaced: false },
    'v1/Node': { plural: 'nodes', namespaced: false },
    'v1/ConfigMap': { plural: 'configmaps', namespaced: true },
    'v1/Secret': { plural: 'secrets', namespaced: true },
    'v1/Service': { plural: 'services', namespaced: true },
    'v1/ServiceAccount': { plural: 'serviceaccounts', namespaced: true },
    'v1/Pod': { plural: 'pods', namespaced: true },
    'v1/PersistentVolumeClaim': { plural: 'persistentvolumeclaims', namespaced: true },
    'v1/ResourceQuota': { plural: 'resourcequotas', namespaced: true },
    'v1/Event': { plural: 'events', namespaced: true },
    'apps/v1/DaemonSet': { plural: 'daemonsets', namespaced: true },
    'networking.k8s.io/v1/NetworkPolicy': { plural: 'networkpolicies', namespaced: true },
    'rbac.authorization.k8s.io/v1/RoleBinding': { plural: 'rolebindings', namespaced: true },
    'authentication.k8s.io/v1/SelfSubjectReview': { plural: 'selfsubjectreviews', namespaced: false },
    'authorization.k8s.io/v1/SelfSubjectRulesReview': { plural: 'selfsubjectrulesreviews', namespaced: false },
    'authorization.k8s.io/v1/SelfSubjectAccessReview': { plural: 'selfsubjectaccessreviews', namespaced: false },
  }),
)

/**
 * Adds a kind to the table. The same kind may be registered again.
 * @param apiVersion group and version, such as `apps/v1`
 * @throws {Error} when the table has another place for it
 */
export function registerKind(apiVersion: string, kind: string, { plural, namespaced }: KindPlace): void {
  const name = `${apiVersion}/${kind}`
  const known = kinds.get(name)
  if (known && (known.plural !== plural || known.namespaced !== namespaced)) {
    throw new Error(`${apiVersion} ${kind} is in the table of kinds as ${known.plural}`)
  }
  kinds.set(name, { plural, namespaced })
}

/**
 * The path of a kind's collection: of one namespace, or of the whole cluster when none is given.
 * @throws {Error} when the kind is not in the table, or a namespace is given for a cluster-scoped kind
 */
export function collectionPath(apiVersion: string, kind: string, namespace?: string): string {
  const place = placeOf(apiVersion, kind)
  if (namespace !== undefined && !place.namespaced) throw new Error(`a ${kind} has no namespace`)
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  return namespace === undefined
    ? `${root}/${place.plural}`
    : `${root}/namespaces/${segment(namespace)}/${place.plural}`
}

/**
 * The path under which an object is created.
 * @throws {Error} as `collectionPath`, and when the namespace is missing
 */
export function creationPath(apiVersion: string, kind: string, namespace?: string): string {
  if (placeOf(apiVersion, kind).namespaced && !namespace) throw new Error(`a ${kind} needs a namespace`)
  return collectionPath(apiVersion, kind, namespace)
}

/**
 * The path of one object, or of a part of it.
 * @throws {Error} as `creationPath`, and for an empty name, since that path would be the whole collection's
 */
export function objectPath(ref: ObjectRef, subresource?: 'status' | 'log'): string {
  if (!ref.name) throw new Error(`a ${ref.kind} without a name`)
  const path = `${creationPath(ref.apiVersion, ref.kind, ref.namespace)}/${segment(ref.name)}`
  return subresource === undefined ? path : `${path}/${subresource}`
}

function segment(name: string): string {
  if (name === '.' || name === '..') throw new Error(`"${name}" is no name`)
  return encodeURIComponent(name)
}

function placeOf(apiVersion: string, kind: string): KindPlace {
  const place = kinds.get(`${apiVersion}/${kind}`)
  if (!place) throw new Error(`no path is known for ${apiVersion} ${kind}: register it`)
  return place
}

/**
 * Whether objects of the kind are in namespaces.
 * @throws {Error} when the kind is not in the table
 */
export const isNamespaced = (apiVersion: string, kind: string): boolean => placeOf(apiVersion, kind).namespaced

/** The plural in a path, such as `pods`; object names are not mistaken for it. */
export function resourceOf(path: string): string {
  const [, group] = /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/([^?]+)/.exec(path) ?? []
  const parts = group?.split('/') ?? []
  const inNamespace = parts[0] === 'namespaces' && parts.length > 2
  return (inNamespace ? parts[2] : parts[0]) ?? 'other'
}
