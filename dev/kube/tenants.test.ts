import { expect, test } from 'vitest'
import { configSchema } from '../../src/config/schema.ts'
import { renderTenantRights } from '../../src/tenants/settings.ts'
import { tenantsObjects } from './tenants.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes; each test reads other fields
type Manifest = any

const objects: Manifest[] = await tenantsObjects()
const find = (kind: string, name: string): Manifest =>
  objects.find(each => each.kind === kind && each.metadata.name === name)

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** The rules of the account, each right by itself: `group/resource VERB`. */
const rights = (find('ClusterRole', 'skylab-tenants').rules as Rule[])
  .filter(({ apiGroups }) => apiGroups[0] !== 'skylab.dev')
  .flatMap(({ apiGroups, resources, verbs, resourceNames }) =>
    resources.flatMap(resource =>
      verbs.map(verb => ({ what: `${apiGroups[0]}/${resource}`, verb, isNamed: resourceNames !== undefined })),
    ),
  )

const operations: Readonly<Record<string, string>> = { create: 'CREATE', patch: 'UPDATE', delete: 'DELETE' }
const harmless = new Set(['get', 'list', 'watch', 'escalate', 'bind'])

/** `group/resource OPERATION` of all requests that a policy looks at. */
const matched = (policy: string): string[] =>
  find('ValidatingAdmissionPolicy', policy).spec.matchConstraints.resourceRules.flatMap((rule: Manifest) =>
    rule.resources.flatMap((resource: string) =>
      rule.operations.map((operation: string) => `${rule.apiGroups[0]}/${resource} ${operation}`),
    ),
  )

test('the account of tenants has no write that no policy looks at, but deletions of objects of our names', () => {
  const known = new Set([...matched('skylab-tenants-controller'), ...matched('skylab-tenants-lnamespaces')])
  const free = rights
    .filter(({ verb }) => !harmless.has(verb))
    .filter(({ what, verb }) => !known.has(`${what} ${operations[verb] ?? verb}`))
  expect(free.filter(({ isNamed }) => !isNamed)).toEqual([])
  expect(free.map(({ what, verb }) => `${verb} ${what}`)).toEqual([
    'delete /resourcequotas',
    'delete /limitranges',
    'delete networking.k8s.io/networkpolicies',
    'delete rbac.authorization.k8s.io/rolebindings',
  ])
})

test('the account of tenants can neither delete namespaces nor override nor impersonate', () => {
  const verbs = new Set(rights.map(({ verb }) => verb))
  expect([...verbs].filter(verb => !harmless.has(verb) && !(verb in operations))).toEqual([])
  expect(rights.filter(({ what, verb }) => what === '/namespaces' && verb === 'delete')).toEqual([])
})

test('rbac.yaml has what `skylab rights` prints without a block tenants', () => {
  for (const wanted of renderTenantRights({ ...configSchema.parse({}), ownNamespace: 'skylab' })) {
    expect(find(wanted.kind, wanted.metadata.name)).toEqual(wanted)
  }
})

test('policies match deletions inside of namespaces only of objects with the label of a tenant', () => {
  const inside = /\/(resourcequotas|limitranges|networkpolicies|rolebindings)(\/.*)? DELETE$/
  const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
  const loose = policies.filter(({ metadata }) => matched(metadata.name).some(each => inside.test(each)))
  expect(loose.map(({ metadata, spec }) => [metadata.name, spec.matchConstraints.objectSelector])).toEqual([
    ['skylab-tenants-guard-deletions', { matchExpressions: [{ key: 'lns.skylab/of', operator: 'Exists' }] }],
  ])
})

test('each policy denies, and fails closed', () => {
  const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
  const bound = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
  expect(policies.map(({ spec }) => spec.failurePolicy)).toEqual(policies.map(() => 'Fail'))
  expect(bound.map(({ spec }) => spec.validationActions)).toEqual(bound.map(() => ['Deny']))
  expect(new Set(bound.map(({ spec }) => spec.policyName))).toEqual(
    new Set(policies.map(({ metadata }) => metadata.name)),
  )
})

/** Paths of all fields below a schema that `kubectl explain` has no words for. */
function wordless(schema: Manifest, path: string): string[] {
  const own = schema.description || path.endsWith('[]') || /^\.(apiVersion|kind|metadata)?$/.test(path) ? [] : [path]
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, each]) =>
    wordless(each, `${path}.${name}`),
  )
  return [...own, ...properties, ...(schema.items ? wordless(schema.items, `${path}[]`) : [])]
}

test('the definition describes each of its fields', () => {
  const [version] = find('CustomResourceDefinition', 'lnamespaces.gial.lblw.dev').spec.versions
  expect(wordless(version.schema.openAPIV3Schema, '')).toEqual([])
})
