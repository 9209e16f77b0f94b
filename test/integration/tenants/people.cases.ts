/** Requests about LNamespaces: what people may ask for, and in which words the rest is refused. */
import { group, lnamespace, type Subject, TenantObjects, user } from '../../kit/tenants/objects.ts'
import { change, make, remove } from '../../kit/tenants/site.ts'
import type { Case } from './world.ts'

const lnamespaces = 'skylab-tenants-lnamespaces' as const
const names = 'skylab-tenants-names' as const
const requester = 'lns.skylab/requester'
const groups = 'lns.skylab/requester-groups'
const definition = {
  ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
  metadata: { name: 'lnamespaces.gial.lblw.dev' },
}

export const many = (count: number, kind = 'User') =>
  Array.from({ length: count }, (_, index) => ({ kind, name: `p${index}` }))
const full = { users: many(500), managers: many(500, 'Group'), sudoers: many(500), sudo: { eligible: many(500) } }
export const robot: Subject = { kind: 'ServiceAccount', namespace: 'team', name: 'robot' }
export const labels = (...keys: string[]) => ({
  namespaceLabelOverrides: Object.fromEntries(keys.map(key => [key, 'x'])),
})

export const admitted: readonly Case[] = [
  { title: 'a creation without anything', by: 'eve', ask: () => make(lnamespace('new')) },
  { title: 'a creation with 500 subjects in each list', by: 'eve', ask: () => make(lnamespace('new', full)) },
  {
    title: 'a creation with subjects of each kind',
    by: 'eve',
    ask: () => make(lnamespace('new', { users: [user('Ada Ö. <ada@example.org>'), group('/a=b/%'), robot] })),
  },
  {
    title: 'a creation with the requester that would be added',
    by: 'eve',
    ask: () => make(lnamespace('new', {}, { annotations: { [requester]: 'eve' } })),
  },
  {
    title: 'a creation with a label of an open prefix',
    by: 'eve',
    ask: () => make(lnamespace('new', labels('team.example.org/x'))),
  },
  {
    title: 'a creation with any label by who may override',
    by: 'olga',
    ask: () => make(lnamespace('new', labels('other.org/x'))),
  },
  { title: 'a creation with platform by who may override', by: 'olga', ask: () => make(lnamespace('new', platform)) },
  {
    title: 'a creation by an account that may override',
    by: 'argo',
    ask: () => make(lnamespace('new', { sudoers: [user('ada')] })),
  },
  { title: 'a name that only resembles those of labs', by: 'eve', ask: () => make(lnamespace('nubladoada')) },
  {
    title: 'an edit by a manager',
    by: 'manager',
    ask: () => change(lnamespace('blue'), { spec: { users: [user('grace')] } }),
  },
  { title: 'an edit by a sudoer', by: 'root', ask: () => change(lnamespace('blue'), { spec: { users: null } }) },
  { title: 'a deletion by a manager', by: 'manager', ask: () => remove(lnamespace('blue')) },
  {
    title: 'an end of preventDeletion',
    by: 'olga',
    ask: () => change(lnamespace('kept'), { spec: { preventDeletion: false } }),
  },
  {
    title: 'a status by the controller',
    by: 'controller',
    ask: () => change(lnamespace('blue'), { status: { sudoGroup: 'x' } }, '/status'),
  },
  {
    title: 'a deletion of another definition',
    by: 'carl',
    ask: () => remove({ ...definition, metadata: { name: 'others.example.org' } }),
  },
]

const platform = { platform: { quota: { pods: '100', 'requests.cpu': 8 }, podSecurity: 'restricted', network: 'open' } }

/** Each is refused by one rule of a policy. */
export const refused: readonly Case[] = [
  {
    title: 'a forged requester',
    by: 'eve',
    ask: () => make(lnamespace('new', {}, { annotations: { [requester]: 'ada' } })),
    ...{ policy: lnamespaces, words: 'must be who asks' },
  },
  {
    title: 'another requester',
    by: 'manager',
    ask: () => change(lnamespace('blue'), { metadata: { annotations: { [requester]: 'eve' } } }),
    ...{ policy: lnamespaces, words: 'never changes' },
  },
  {
    title: 'an edit without the requester',
    by: 'olga',
    ask: () => change(lnamespace('blue'), { metadata: { annotations: { [requester]: null } } }),
    ...{ policy: lnamespaces, words: 'never changes' },
  },
  {
    title: 'groups that the requester is not in',
    by: 'eve',
    ask: () => make(lnamespace('new', {}, { annotations: { [groups]: 'physics' } })),
    ...{ policy: lnamespaces, words: 'must be groups of who asks' },
  },
  {
    title: 'other groups of the requester',
    by: 'manager',
    ask: () => change(lnamespace('blue'), { metadata: { annotations: { [groups]: 'physics' } } }),
    ...{ policy: lnamespaces, words: `[${groups}] never changes` },
  },
  {
    title: 'a creation by a pod',
    by: 'pod',
    ask: () => make(lnamespace('new')),
    policy: lnamespaces,
    words: 'is no person',
  },
  {
    title: 'a creation by the controller',
    by: 'controller',
    ask: () => make(lnamespace('new')),
    policy: lnamespaces,
    words: 'is no person',
  },
  {
    title: 'platform',
    by: 'eve',
    ask: () => make(lnamespace('new', platform)),
    policy: lnamespaces,
    words: 'spec.platform is for',
  },
  {
    title: 'a change of platform',
    by: 'manager',
    ask: () => change(lnamespace('blue'), { spec: platform }),
    policy: lnamespaces,
    words: 'spec.platform is for',
  },
  {
    title: 'a change of platform by root',
    by: 'root',
    ask: () => change(lnamespace('blue'), { spec: platform }),
    policy: lnamespaces,
    words: 'spec.platform is for',
  },
  ...[
    'pod-security.kubernetes.io/enforce',
    'skylab/op',
    'lns.skylab/uid',
    'istio.io/rev',
    'kubernetes.io/metadata.name',
  ].map(key => ({
    ...({
      title: `the label ${key}`,
      by: 'olga' as const,
      policy: lnamespaces,
      words: 'cannot be overridden',
    } as const),
    ask: () => make(lnamespace('new', labels(key))),
  })),
  {
    title: 'a deletion in spite of preventDeletion',
    by: 'olga',
    ask: () => remove(lnamespace('kept')),
    policy: lnamespaces,
    words: 'set it to false first',
  },
  {
    title: 'a status',
    by: 'mona',
    ask: () => change(lnamespace('blue'), { status: { grants: [] } }, '/status'),
    policy: lnamespaces,
    words: 'status is written by',
  },
  {
    title: 'a deletion of the definition',
    by: 'carl',
    ask: () => remove(definition),
    policy: lnamespaces,
    words: 'lns.skylab/deletion=of-all-tenants',
  },
  ...['default', 'skylab'].map(name => ({
    ...({ title: `the name ${name}`, by: 'olga' as const, policy: names, words: 'is reserved' } as const),
    ask: () => make(lnamespace(name)),
  })),
  ...['kube-system', 'skylab-x', 'openshift-x'].map(name => ({
    ...({
      title: `the name ${name}`,
      by: 'olga' as const,
      policy: names,
      words: 'begins like names that are reserved',
    } as const),
    ask: () => make(lnamespace(name)),
  })),
  {
    title: 'the name of a lab',
    by: 'olga',
    ask: () => make(lnamespace('nublado-ada')),
    policy: names,
    words: 'is a name of namespaces of labs',
  },
  {
    title: 'a label that is closed',
    by: 'eve',
    ask: () => make(lnamespace('new', labels('other.org/x'))),
    policy: names,
    words: 'spec.namespaceLabelOverrides:',
  },
  {
    title: 'a change to a label that is closed',
    by: 'manager',
    ask: () => change(lnamespace('blue'), { spec: labels('other.org/x') }),
    policy: names,
    words: 'spec.namespaceLabelOverrides:',
  },
  ...(['nublado-ada', 'kube-ada'] as const).map(name => ({
    ...{ title: `a namespace of a tenant called ${name}`, by: 'controller' as const, policy: names },
    words: name === 'kube-ada' ? 'begins like names that are reserved' : 'is a name of namespaces of labs',
    ask: () => make(new TenantObjects(name, 'x').namespace()),
  })),
  {
    title: 'a namespace of a tenant that admits privileged pods',
    by: 'controller',
    ask: ({ bare }) => make(bare.namespace({ 'pod-security.kubernetes.io/enforce': 'privileged' })),
    ...{ policy: names, words: 'is not for namespaces of tenants' },
  },
  {
    title: 'a namespace of a tenant without a level',
    by: 'controller',
    ask: ({ blue }) =>
      change(blue.namespace(), { metadata: { labels: { 'pod-security.kubernetes.io/enforce': null } } }),
    ...{ policy: names, words: 'is not for namespaces of tenants' },
  },
]
