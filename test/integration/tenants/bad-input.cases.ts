/** Bad input about LNamespaces: what is sent, comes back, and is left behind. For docs/tenants.md and for its test. */
import type { KubeObject } from '../../../src/base/domain.ts'
import { group, lnamespace, user } from '../../kit/tenants/objects.ts'
import { type Ask, change, make, remove } from '../../kit/tenants/site.ts'
import { labels, many } from './people.cases.ts'

/**
 * People of the tenant `blue`: ada is its sudoer and requester, `root` is she by sudo, max manages it, uma uses it. Eve is
 * nobody's member.
 */
export const senders = {
  eve: { name: 'eve' },
  max: { name: 'max' },
  ada: { name: 'ada' },
  uma: { name: 'uma' },
  root: { name: 'ada', groups: ['blue-sudoers'] },
  pod: { name: 'system:serviceaccount:blue:default' },
} as const

export interface Row {
  readonly sent: string
  readonly by: keyof typeof senders
  readonly ask: () => Ask
  /** The status of the answer, and words of it. */
  readonly answer: readonly [number, string?]
  /** The condition that follows where the API server accepts the request: its type, its reason, and words. */
  readonly condition?: readonly [string, string, string]
  /** What is left behind; by default nothing. */
  readonly left?: string
}

const requester = 'lns.skylab/requester'
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'blue' } }
const quota: KubeObject = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'lns-platform', namespace: 'blue' },
}

/** A creation of one with such a specification. */
const spec = (of: object) => () => make(lnamespace('evil', of))
const edit = (patch: object) => () => change(lnamespace('blue'), patch)
/** As kubectl asks for it: fields that the definition does not know are refused. */
const strict = (ask: Ask): Ask => ({ ...ask, query: '?fieldValidation=Strict' })

const refusedLeaves = 'the LNamespace'

const names: readonly Row[] = [
  { sent: 'a name with a dot', by: 'eve', ask: () => make(lnamespace('a.b')), answer: [422, 'dots are not allowed'] },
  {
    sent: 'a name of 64 characters',
    by: 'eve',
    ask: () => make(lnamespace('a'.repeat(64))),
    answer: [422, 'at most 63 of a-z, 0-9 and -'],
  },
  {
    sent: 'the name `kube-system`, or another one that begins with `kube-`',
    by: 'eve',
    ask: () => make(lnamespace('kube-system')),
    answer: [403, 'kube-system begins like names that are reserved'],
  },
  ...['default', 'skylab'].map(
    (name): Row => ({
      sent: `the name \`${name}\`${name === 'skylab' ? ', the controller’s own namespace' : ''}`,
      ...{ by: 'eve', ask: () => make(lnamespace(name)), answer: [403, `${name} is reserved`] },
    }),
  ),
  {
    sent: 'the name of a lab’s namespace',
    by: 'eve',
    ask: () => make(lnamespace('nublado-ada')),
    answer: [403, 'nublado-ada is a name of namespaces of labs'],
  },
  {
    sent: 'the name of a namespace that is somebody else’s',
    by: 'eve',
    ask: () => make(lnamespace('theirs', { users: [user('eve')] })),
    answer: [201],
    condition: ['Accepted', 'Conflict', 'the Namespace theirs exists, and is not that of this LNamespace'],
    left: `${refusedLeaves}; the namespace stays as it was`,
  },
  {
    sent: 'one more than `tenants.maxPerUser`',
    by: 'ada',
    ask: () => make(lnamespace('fourth')),
    answer: [201],
    condition: ['Accepted', 'TooMany', 'at most 3 get a namespace'],
    left: `${refusedLeaves}, until another one of hers is gone`,
  },
]

const subjects: readonly Row[] = [
  {
    sent: 'a user `system:…` in any list',
    by: 'eve',
    ask: spec({ sudoers: [user('system:admin')] }),
    answer: [422, 'names of people and groups must not begin with system:'],
  },
  {
    sent: 'a group `system:…`',
    by: 'eve',
    ask: spec({ managers: [group('system:authenticated')] }),
    answer: [422, 'names of people and groups must not begin with system:'],
  },
  { sent: '501 users', by: 'eve', ask: spec({ users: many(501) }), answer: [422, 'spec.users: Too many: 501'] },
  {
    sent: 'a newline or another control character in a name',
    by: 'eve',
    ask: spec({ users: [user('ada\n')] }),
    answer: [422, 'control characters and invisible ones are not allowed'],
  },
  {
    sent: 'an invisible character in a name, such as one that turns the direction of writing',
    by: 'eve',
    ask: spec({ users: [user('a\u202eb')] }),
    answer: [422, 'control characters and invisible ones are not allowed'],
  },
  {
    sent: 'a name of 257 characters',
    by: 'eve',
    ask: spec({ users: [user('a'.repeat(257))] }),
    answer: [422, 'spec.users[0].name: Too long'],
  },
  {
    sent: 'a subject twice in one list',
    by: 'eve',
    ask: spec({ users: [user('ada'), user('ada')] }),
    answer: [422, 'Duplicate value'],
  },
  {
    sent: 'a group as sudoer',
    by: 'eve',
    ask: spec({ sudoers: [group('devs')] }),
    answer: [422, 'groups get sudo for a time by sudo.eligible'],
  },
  {
    sent: 'a field that does not exist, by kubectl',
    by: 'eve',
    ask: () => strict(make(lnamespace('evil', { sudoer: [] }))),
    answer: [400, 'unknown field "spec.sudoer"'],
  },
]

const beyond: readonly Row[] = [
  {
    sent: 'a forged requester',
    by: 'eve',
    ask: () => make(lnamespace('evil', {}, { annotations: { [requester]: 'ada' } })),
    answer: [403, 'must be who asks, eve'],
  },
  {
    sent: 'another requester, by a manager',
    by: 'max',
    ask: edit({ metadata: { annotations: { [requester]: 'max' } } }),
    answer: [403, 'never changes; it is ada'],
  },
  { sent: 'a creation by a pod', by: 'pod', ask: spec({}), answer: [403, 'is no person'] },
  {
    sent: 'a larger quota for itself (`spec.platform`)',
    by: 'root',
    ask: edit({ spec: { platform: { quota: { pods: '99' } } } }),
    answer: [403, 'spec.platform is for accounts that may override lnamespaces'],
  },
  {
    sent: 'a label that operators have not opened',
    by: 'max',
    ask: edit({ spec: labels('other.org/x') }),
    answer: [403, 'spec.namespaceLabelOverrides: other.org/x is for accounts that may override'],
  },
  {
    sent: 'a grant of sudo, written into the status',
    by: 'root',
    ask: () => change(lnamespace('blue'), { status: { grants: [] } }, '/status'),
    answer: [403, 'cannot patch resource "lnamespaces/status"'],
  },
  {
    sent: 'an edit of an LNamespace by a stranger, or by a user of it',
    by: 'uma',
    ask: edit({ spec: { sudoers: [user('uma')] } }),
    answer: [403, 'cannot patch resource "lnamespaces"'],
  },
  {
    sent: 'a deletion while `preventDeletion` is true, by a manager',
    by: 'max',
    ask: () => remove(lnamespace('kept')),
    answer: [403, 'spec.preventDeletion of kept is true: set it to false first'],
  },
  {
    sent: 'a deletion of the namespace itself, by sudo',
    by: 'root',
    ask: () => remove(namespace),
    answer: [403, 'the namespace goes with its LNamespace: delete lnamespace blue'],
  },
  {
    sent: 'another level of Pod Security, by sudo',
    by: 'root',
    ask: () => change(namespace, { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } } }),
    answer: [403, 'metadata.labels of the namespace of a tenant are as its LNamespace says'],
  },
  {
    sent: 'a deletion of the platform’s quota, by sudo',
    by: 'root',
    ask: () => remove(quota),
    answer: [403, 'lns-platform is kept as its LNamespace says: edit that'],
  },
]

export const rows: readonly Row[] = [...names, ...subjects, ...beyond]

/** Requests that are no mistake to the API server. Other tests show what follows. */
export const accepted: readonly { readonly sent: string; readonly answer: string; readonly left: string }[] = [
  {
    sent: 'an edit by which a manager takes himself out',
    answer: '200',
    left: 'his right is gone within a second; all others keep theirs. Another manager, a sudoer or an administrator can put him back',
  },
  {
    sent: 'an LNamespace whose namespace of before is still being deleted',
    answer: '201, then `NamespaceReady` is False: **FormerTerminating**',
    left: 'the LNamespace, and no right for anybody until the former namespace is gone; then all of it is made',
  },
  {
    sent: 'an LNamespace that was stored before the policies, with a reserved name or a subject `system:…`',
    answer: '`Accepted` is False: **Reserved** or **Invalid**',
    left: 'the LNamespace alone',
  },
]
