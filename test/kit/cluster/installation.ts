/** Grants an installation the rights of its configuration, as an operator does with `skylab rights`. */
import { waitUntil } from '../../../dev/process/api-client.ts'
import type { ConfigInput } from '../../../dev/stack/config.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { configSchema } from '../../../src/config/schema.ts'
import { accountName, renderRights } from '../../../src/labs/rights.ts'
import type { AdminKube } from './kube.ts'

export const rbacPath = '/apis/rbac.authorization.k8s.io/v1'

/** The namespace of the controller's test account. */
export const ownNamespace = 'skylab'

const collectionOf = ({ kind, metadata: { namespace } }: KubeObject): string =>
  `${rbacPath}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${kind.toLowerCase()}s`

const renamed = <T extends { name: string }>(named: T, called: (was: string) => string): T => ({
  ...named,
  name: called(named.name),
})

/** The binding has a name of its own, since two fleets may share an installation. */
function rightsOf(config: ConfigInput, name: string, namespace: string): KubeObject[] {
  const parsed = configSchema.parse(config)
  const ending = `-${parsed.installation}`
  // Roles that all installations share stay as they are.
  const called = (was: string) => (was.endsWith(ending) ? `${was.slice(0, -ending.length)}-${name}` : was)
  return renderRights(parsed, namespace).map(object => ({
    ...object,
    metadata: { ...object.metadata, name: called(object.metadata.name) },
    ...('roleRef' in object && { roleRef: renamed(object.roleRef as { name: string }, called) }),
  }))
}

/** Resolves when the API server applies the rights. @param namespace the controller's own */
export async function grantInstallation(
  kube: AdminKube,
  config: ConfigInput,
  name = config.installation!,
  namespace = ownNamespace,
): Promise<void> {
  for (const object of rightsOf(config, name, namespace)) {
    const { status, body } = await kube.request('POST', collectionOf(object), object)
    if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name}: ${status} ${body.message}`)
  }
  await waitUntil(() => owns(kube, config.installation!, namespace), {
    what: `the rights of ${config.installation}`,
    limitMs: 45_000,
  })
}

/** Replaces the rights by those of another configuration. API servers apply them after a moment. */
export async function regrantInstallation(
  kube: AdminKube,
  config: ConfigInput,
  name = config.installation!,
): Promise<void> {
  const [role] = rightsOf(config, name, ownNamespace)
  const { status } = await kube.request('PUT', `${collectionOf(role!)}/${role!.metadata.name}`, role)
  if (status !== 200) throw new Error(`the role of ${name} was not changed: ${status}`)
}

async function owns(kube: AdminKube, installation: string, namespace: string): Promise<boolean> {
  const resourceAttributes = { group: 'skylab.dev', resource: 'installations', name: installation, verb: 'own' }
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SubjectAccessReview',
    spec: { user: `system:serviceaccount:${namespace}:${accountName}`, resourceAttributes },
  }
  const { body } = await kube.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', review)
  return body.status.allowed
}

export async function revokeInstallation(
  kube: AdminKube,
  config: ConfigInput,
  name = config.installation!,
  namespace = ownNamespace,
): Promise<void> {
  const all = rightsOf(config, name, namespace).toReversed()
  for (const object of all) await kube.request('DELETE', `${collectionOf(object)}/${object.metadata.name}`)
}
