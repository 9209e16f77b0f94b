/** The cluster of these tests: two tenants, people with different rights, and an installation of labs. */
import type { KubeObject } from '../../../src/base/domain.ts'
import { lnamespace, TenantObjects, user } from '../../kit/tenants/objects.ts'
import { type Ask, controller, make, type Sender, TenantsSite } from '../../kit/tenants/site.ts'

export const policies = [
  'skylab-tenants-lnamespaces',
  'skylab-tenants-names',
  'skylab-tenants-controller',
  'skylab-tenants-guard',
  'skylab-tenants-guard-deletions',
] as const

export type PolicyName = (typeof policies)[number]

const rbac = 'rbac.authorization.k8s.io'

export const people = {
  /** The requester and sudoer of blue. */
  ada: { name: 'ada' },
  /** She, as root of blue. */
  root: { name: 'ada', groups: ['blue-sudoers'] },
  /** A user of blue, with the role `admin` there. */
  user: { name: 'blue-user' },
  manager: { name: 'blue-manager' },
  /** Nobody's member. */
  eve: { name: 'eve' },
  /** May override lnamespaces. */
  olga: { name: 'olga' },
  /** May write everything that policies look at, but not override. */
  mona: { name: 'mona' },
  /** An administrator of the cluster, by RBAC. */
  carl: { name: 'carl' },
  /** A program that deploys what others wrote; it may override. */
  argo: { name: 'system:serviceaccount:argo:argo' },
  /** The token of any pod. */
  pod: { name: 'system:serviceaccount:team:default' },
  controller,
} as const satisfies Record<string, Sender>

export interface World {
  readonly site: TenantsSite
  readonly blue: TenantObjects
  readonly green: TenantObjects
  /** A tenant that has only its namespace. */
  readonly empty: TenantObjects
  /** An LNamespace without a namespace. */
  readonly bare: TenantObjects
  /** An LNamespace whose name a namespace of others has, which is marked for adoption. */
  readonly adopted: TenantObjects
  /** One with `preventDeletion`. */
  readonly kept: TenantObjects
}

/** A request that a policy must admit, or refuse with words. */
export interface Case {
  readonly title: string
  readonly by: keyof typeof people
  readonly ask: (world: World) => Ask
  /** The policy that refuses it, and words of the one rule of it that does; an admitted request has neither. */
  readonly policy?: PolicyName
  readonly words?: string
}

export const plainNamespace = (name: string, metadata: object = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...metadata } },
})

const lnamespaces = { apiGroups: ['gial.lblw.dev'], resources: ['lnamespaces'] }
const override = { ...lnamespaces, verbs: ['create', 'update', 'patch', 'delete', 'override'] }
const wide = [
  { apiGroups: [''], resources: ['namespaces', 'namespaces/finalize', 'namespaces/status'], verbs: ['*'] },
  { apiGroups: [''], resources: ['resourcequotas', 'resourcequotas/status', 'limitranges'], verbs: ['*'] },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: ['*'] },
  { apiGroups: [rbac], resources: ['rolebindings', 'clusterroles', 'clusterrolebindings'], verbs: ['*'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['*'] },
  { ...lnamespaces, verbs: ['create', 'update', 'patch', 'delete'] },
  { ...lnamespaces, resources: ['lnamespaces/status'], verbs: ['*'] },
]

export async function startWorld(): Promise<World> {
  const site = await TenantsSite.start()
  await site.grant('override', [user('olga'), user(people.argo.name)], [override])
  await site.grant('wide', [user('mona')], wide)
  await site.grant('carl', [user('carl')], [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])
  const prefixes = { apiGroups: ['skylab.dev'], resources: ['prefixes'], resourceNames: ['nublado'], verbs: ['use'] }
  await site.grant('skylab-installation-labs', [], [prefixes], { 'skylab.dev/installation': 'labs' })
  const only = async (name: string, spec: object = {}) => {
    const made = await site.must(people.ada, make(lnamespace(name, spec)))
    return new TenantObjects(name, made.metadata.uid!)
  }
  const [blue, green, empty, bare, adopted, kept] = await Promise.all([
    site.tenant('blue', people.ada, { managers: [user('blue-manager')] }),
    site.tenant('green', { name: 'grace' }),
    only('empty'),
    only('bare'),
    only('adopted'),
    only('kept', { preventDeletion: true }),
  ])
  await site.create(plainNamespace('plain', { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } }))
  await site.create(plainNamespace('adopted', { annotations: { 'lns.skylab/adopt': adopted.uid } }))
  await site.create(plainNamespace('kept'))
  await site.must(controller, make(empty.namespace()))
  await site.create({ ...blue.role('lns:sudo:strange', []), metadata: { name: 'lns:sudo:strange' } })
  await site.create({ ...blue.binding('lns:sudo:strange', []), metadata: { name: 'lns:sudo:strange' } })
  return { site, blue, green, empty, bare, adopted, kept }
}
