/** Requests about objects of tenants by everybody but the controller. */
import { group, lnsVersion, user } from '../../kit/tenants/objects.ts'
import { type Ask, change, make, remove } from '../../kit/tenants/site.ts'
import { type Case, type people, plainNamespace, type World } from './world.ts'

const policy = 'skylab-tenants-guard'

const one = (title: string, by: keyof typeof people, ask: (world: World) => Ask, words?: string): Case => ({
  ...{ title, by, ask },
  ...(words !== undefined && { policy, words }),
})
const removal = (title: string, by: keyof typeof people, ask: (world: World) => Ask): Case => ({
  ...{ title, by, ask, policy: 'skylab-tenants-guard-deletions', words: 'is kept as its LNamespace says' },
})

const developer = ({ blue }: World) => blue.roleBinding('lns-developer', 'admin', [user('x')])
const quota = ({ blue }: World) => blue.platform('ResourceQuota')
const wall = ({ blue }: World) => blue.platform('NetworkPolicy')
const level = (value: string | null) => ({ metadata: { labels: { 'pod-security.kubernetes.io/enforce': value } } })
const annotated = { metadata: { annotations: { 'example.org/x': 'y' } } }
const own = (name: string) => ({
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name, namespace: 'blue' } },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
  subjects: [{ ...group('friends'), apiGroup: 'rbac.authorization.k8s.io' }],
})
const ownQuota = (name: string) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name, namespace: 'blue' },
  spec: {},
})

export const admitted: readonly Case[] = [
  one('a binding of one’s own', 'root', () => make(own('friends'))),
  one('a binding by a user with the role admin', 'user', () => make(own('friends'))),
  one('a quota of one’s own', 'root', () => make(ownQuota('mine'))),
  one('an annotation of a tenant’s namespace', 'root', ({ blue }) => change(blue.namespace(), annotated)),
  one('a label of another namespace', 'mona', () => change(plainNamespace('plain'), level('restricted'))),
  one('a deletion of another namespace', 'mona', () => remove(plainNamespace('plain'))),
  one('a binding of such a name elsewhere', 'mona', () =>
    make({ ...own('lns-developer'), metadata: { name: 'lns-developer', namespace: 'plain' } }),
  ),
  one('a role of one’s own', 'mona', () =>
    make({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'mine' }, rules: [] }),
  ),
  one('a label of a tenant’s namespace by an administrator', 'carl', ({ blue }) =>
    change(blue.namespace(), level('restricted')),
  ),
  one('a removal of users by an administrator', 'carl', world => remove(developer(world))),
  one('the mark of an adoption by an administrator', 'carl', () =>
    change(plainNamespace('plain'), { metadata: { annotations: { 'lns.skylab/adopt': 'x' } } }),
  ),
]

export const refused: readonly Case[] = [
  one(
    'another level of Pod Security',
    'root',
    ({ blue }) => change(blue.namespace(), level('privileged')),
    'metadata.labels of the namespace',
  ),
  one(
    'no level of Pod Security',
    'root',
    ({ blue }) => change(blue.namespace(), level(null)),
    'metadata.labels of the namespace',
  ),
  one(
    'another label',
    'mona',
    ({ blue }) => change(blue.namespace(), { metadata: { labels: { x: 'y' } } }),
    'metadata.labels of the namespace',
  ),
  one(
    'no owner of the namespace',
    'root',
    ({ blue }) => change(blue.namespace(), { metadata: { ownerReferences: null } }),
    'an LNamespace as owner',
  ),
  one(
    'another owner of the namespace',
    'root',
    ({ blue }) =>
      change(blue.namespace(), {
        metadata: { ownerReferences: [blue.owner, { apiVersion: 'v1', kind: 'Namespace', name: 'plain', uid: 'x' }] },
      }),
    'metadata.ownerReferences and metadata.finalizers',
  ),
  one(
    'a finalizer of the namespace',
    'root',
    ({ blue }) => change(blue.namespace(), { metadata: { finalizers: ['example.org/x'] } }),
    'metadata.ownerReferences and metadata.finalizers',
  ),
  one(
    'no UID of the tenant',
    'root',
    ({ blue }) => change(blue.namespace(), { metadata: { labels: { 'lns.skylab/uid': null } } }),
    'what makes an object that of a tenant',
  ),
  one(
    'the mark of an adoption',
    'mona',
    ({ kept }) => change(plainNamespace('kept'), { metadata: { annotations: { 'lns.skylab/adopt': kept.uid } } }),
    'what makes an object that of a tenant',
  ),
  one(
    'a namespace that claims an owner',
    'mona',
    ({ kept }) => change(plainNamespace('kept'), { metadata: { ownerReferences: [kept.owner] } }),
    'an LNamespace as owner',
  ),
  one(
    'a new namespace that claims an owner',
    'mona',
    () =>
      make(
        plainNamespace('new', {
          ownerReferences: [{ apiVersion: lnsVersion, kind: 'LNamespace', name: 'new', uid: 'x' }],
        }),
      ),
    'an LNamespace as owner',
  ),
  one(
    'a binding that claims a tenant',
    'root',
    () => make({ ...own('friends'), metadata: { ...own('friends').metadata, labels: { 'lns.skylab/of': 'blue' } } }),
    'what makes an object that of a tenant',
  ),
  one(
    'a deletion of the namespace',
    'root',
    ({ blue }) => remove(blue.namespace()),
    'the namespace goes with its LNamespace',
  ),
  one(
    'an end of the namespace',
    'root',
    ({ blue }) => ({
      ...change(blue.namespace(), {}, '/finalize'),
      method: 'PUT',
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: blue.namespace().metadata, spec: { finalizers: [] } },
    }),
    'only the cluster ends',
  ),
  one(
    'another member',
    'user',
    world => change(developer(world), { subjects: [{ ...user('eve'), apiGroup: 'rbac.authorization.k8s.io' }] }),
    'is kept as its LNamespace says',
  ),
  one(
    'an annotation of a binding',
    'root',
    world => change(developer(world), { metadata: { annotations: { 'skylab/last': '{}' } } }),
    'is kept as its LNamespace says',
  ),
  one(
    'a larger quota',
    'root',
    world => change(quota(world), { spec: { hard: { pods: '99' } } }),
    'is kept as its LNamespace says',
  ),
  one(
    'a larger quota by its status',
    'root',
    world => change(quota(world), { status: { hard: { pods: '99' } } }, '/status'),
    'is kept as its LNamespace says',
  ),
  one(
    'another wall',
    'user',
    world => change(wall(world), { spec: { ingress: [{}] } }),
    'is kept as its LNamespace says',
  ),
  one('a quota under our name', 'root', () => make(ownQuota('lns-other')), 'is a name of objects of tenants'),
  one('a binding under our name', 'user', () => make(own('lns-other')), 'is a name of objects of tenants'),
  one(
    'a role of a tenant',
    'mona',
    ({ blue }) => change(blue.role('lns:sudo:blue', []), { rules: [] }),
    'is kept as its LNamespace says',
  ),
  one(
    'a role of a sudoer',
    'mona',
    ({ blue }) => change(blue.role('lns:self:ada', []), { rules: [] }),
    'is kept as its LNamespace says',
  ),
  one(
    'a role under our name',
    'mona',
    () =>
      make({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'lns:self:eve' },
        rules: [],
      }),
    'is a name of roles of tenants',
  ),
  one(
    'a removal of a role',
    'mona',
    ({ blue }) => remove(blue.role('lns:sudo:blue', [])),
    'is a name of roles of tenants',
  ),
]

export const removals: readonly Case[] = [
  removal('users', 'root', world => remove(developer(world))),
  removal('users, by one of them', 'user', world => remove(developer(world))),
  removal('the quota', 'root', world => remove(quota(world))),
  removal('the wall', 'user', world => remove(wall(world))),
  removal('the limits', 'mona', ({ blue }) => remove(blue.platform('LimitRange'))),
  removal('all bindings', 'root', () => ({
    method: 'DELETE',
    path: '/apis/rbac.authorization.k8s.io/v1/namespaces/blue/rolebindings',
  })),
]
