/** Writes of the account of the controller that RBAC allows, and one rule of the policy refuses. */
import { editRule, group, impersonate, type TenantObjects, user } from '../../kit/tenants/objects.ts'
import { change, make, remove } from '../../kit/tenants/site.ts'
import { developer, foreign, one, people, selfBinding, selfRole } from './account.cases.ts'
import { type Case, plainNamespace, type World } from './world.ts'

const sudoRole = (tenant: TenantObjects, target: string) =>
  tenant.role(`lns:sudo:${tenant.name}`, [impersonate('groups', target)])
const stranger = { apiVersion: 'v1', kind: 'Namespace', name: 'plain', uid: 'x' }
/** An object inside of a namespace that is no tenant's, by blue. */
const inPlain = ({ blue }: World) => blue.platform('LimitRange', { namespace: 'plain' })
const extraRule = { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['x'] }

export const refused: readonly Case[] = [
  one(
    'a namespace of nobody',
    () => make(plainNamespace('new', { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } })),
    'it does not belong to LNamespaces alone',
  ),
  one(
    'a namespace of another name',
    ({ bare }) => make({ ...bare.namespace(), metadata: { ...bare.namespace().metadata, name: 'new' } }),
    'does not belong to the LNamespace of its name',
  ),
  one(
    'a namespace without the UID',
    ({ bare }) => make(bare.namespace({ 'lns.skylab/uid': 'x' })),
    'does not belong to the LNamespace of its name',
  ),
  one(
    'a namespace of another’s name',
    ({ bare }) => make(bare.namespace({ 'lns.skylab/of': 'blue' })),
    'does not belong to the LNamespace of its name',
  ),
  one(
    'the adoption of a namespace',
    ({ kept }) => change(kept.namespace(), { metadata: kept.namespace().metadata }),
    'the namespace is of nobody',
  ),
  one('a label of a lab', ({ bare }) => make(bare.namespace({ 'skylab/x': 'y' })), 'would bear a label of Kubernetes'),
  one(
    'a label of the cluster',
    ({ bare }) => make(bare.namespace({ 'admission.gke.k8s.io/x': 'y' })),
    'would bear a label of Kubernetes',
  ),
  one(
    'an annotation',
    ({ bare }) => make(bare.namespace({}, { annotations: { 'scheduler.alpha.kubernetes.io/node-selector': 'x' } })),
    'would bear an annotation',
  ),
  one(
    'the mark of an adoption',
    ({ blue }) => change(blue.namespace(), { metadata: { annotations: { 'lns.skylab/adopt': 'x' } } }),
    'would bear an annotation',
  ),
  one(
    'a finalizer of a namespace',
    ({ bare }) => make(bare.namespace({}, { finalizers: ['example.org/x'] })),
    'it adds a finalizer',
  ),
  one(
    'a finalizer',
    world => change(developer(world), { metadata: { finalizers: ['example.org/x'] } }),
    'it adds a finalizer',
  ),
  one(
    'users in a namespace of nobody',
    world => make(world.blue.roleBinding('lns-developer', 'admin', [user('x')], { namespace: 'plain' })),
    'its namespace is of no tenant',
  ),
  one(
    'users in kube-system',
    world => make(world.blue.roleBinding('lns-developer', 'admin', [user('x')], { namespace: 'kube-system' })),
    'its namespace is of no tenant',
  ),
  one(
    'users of another’s namespace',
    world => change(foreign(world), { subjects: people(1), metadata: { ownerReferences: [world.blue.owner] } }),
    'its namespace is of no tenant',
  ),
  one('limits in a namespace of nobody', world => make(inPlain(world)), 'its namespace is of no tenant'),
  one(
    'a binding without an owner',
    world =>
      make({
        ...developer(world),
        metadata: { ...developer(world).metadata, name: 'lns-sudoer', ownerReferences: [] },
      }),
    'it does not belong to LNamespaces alone',
  ),
  one(
    'a binding that is somebody’s too',
    world => change(developer(world), { metadata: { ownerReferences: [world.blue.owner, stranger] } }),
    'it does not belong to LNamespaces alone',
  ),
  one(
    'a binding of a stranger',
    ({ blue }) =>
      change(blue.binding('lns:sudo:strange', []), {
        metadata: { ownerReferences: [{ ...blue.owner, name: 'strange' }] },
      }),
    'it did not belong to LNamespaces alone',
  ),
  one(
    'the removal of a stranger’s role',
    ({ blue }) => remove(blue.role('lns:sudo:strange', [])),
    'it did not belong to LNamespaces alone',
  ),
  one(
    'a role that is somebody’s too',
    ({ blue }) => make(selfRole(blue, 'x', { ownerReferences: [blue.owner, stranger] })),
    'it does not belong to LNamespaces alone',
  ),
  one(
    'a label that aggregates',
    ({ blue }) => make(selfRole(blue, 'x', { labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } })),
    'it bears a label',
  ),
  one(
    'a binding of another name',
    ({ blue }) => make(blue.roleBinding('others', 'admin', [user('x')])),
    'another name than objects of tenants',
  ),
  one(
    'a quota of another name',
    ({ blue }) => make(blue.platform('ResourceQuota', { name: 'others' })),
    'another name than objects of tenants',
  ),
  one(
    'another role for users',
    ({ empty }) => make(empty.roleBinding('lns-developer', 'cluster-admin', [user('x')])),
    'it binds another role than the one of its name',
  ),
  one(
    'another role for sudoers',
    ({ empty }) => make(empty.roleBinding('lns-sudoer', 'admin', [group('empty-sudoers')])),
    'it binds another role than the one of its name',
  ),
  one(
    'another group as root',
    ({ empty }) => make(empty.roleBinding('lns-sudoer', 'cluster-admin', [group('others')])),
    'it makes others root',
  ),
  one(
    'a person as root',
    ({ empty }) => make(empty.roleBinding('lns-sudoer', 'cluster-admin', [user('empty-sudoers')])),
    'it makes others root',
  ),
  one(
    'everybody as users',
    ({ empty }) => make(empty.roleBinding('lns-developer', 'admin', [group('system:authenticated')])),
    'it binds a subject system:',
  ),
  one(
    'everybody as managers',
    ({ empty }) => make(empty.binding('lns:edit:empty', [group('system:authenticated')])),
    'it binds a subject system:',
  ),
  one(
    'a role that aggregates',
    ({ empty }) =>
      make(empty.role('lns:edit:empty', [], { aggregate: { clusterRoleSelectors: [{ matchLabels: { x: 'y' } }] } })),
    'it aggregates other roles',
  ),
  one(
    'a role with two rules',
    ({ empty }) => make(empty.role('lns:edit:empty', [editRule('empty'), extraRule])),
    'more than one rule about one name',
  ),
  one(
    'a role about all names',
    ({ empty }) => make(empty.role('lns:edit:empty', [{ ...editRule('empty'), resourceNames: [] }])),
    'more than one rule about one name',
  ),
  one(
    'a role about two names',
    ({ empty }) => make(empty.role('lns:edit:empty', [{ ...editRule('empty'), resourceNames: ['empty', 'blue'] }])),
    'more than one rule about one name',
  ),
  one(
    'a role to become another',
    ({ blue }) => make(blue.role('lns:self:x', [impersonate('users', 'carl')])),
    'it lets others be impersonated',
  ),
  one(
    'a role to become the system',
    ({ blue }) => make(selfRole(blue, 'system:admin')),
    'it lets others be impersonated',
  ),
  one(
    'a role to become a group as oneself',
    ({ blue }) => make(blue.role('lns:self:x', [impersonate('groups', 'x')])),
    'it lets others be impersonated',
  ),
  one(
    'a role by a wrong escape',
    ({ blue }) => make(blue.role('lns:self:a=b', [impersonate('users', 'a=b')])),
    'it lets others be impersonated',
  ),
  one(
    'a role for all that one does',
    ({ blue }) => make(blue.role('lns:self:x', [{ ...impersonate('users', 'x'), verbs: ['*'] }])),
    'it lets others be impersonated',
  ),
  one(
    'a role to become system:masters',
    ({ empty }) => make(sudoRole(empty, 'system:masters')),
    'it lets another group be impersonated',
  ),
  one(
    'a role to become the sudoers of another',
    ({ empty }) => make(sudoRole(empty, 'blue-sudoers')),
    'it lets another group be impersonated',
  ),
  one(
    'the sudoers of another’s name',
    ({ empty }) => make(empty.role('lns:sudo:new', [impersonate('groups', 'new-sudoers')])),
    'it lets another group be impersonated',
  ),
  one(
    'a role to edit another',
    ({ empty }) => make(empty.role('lns:edit:empty', [editRule('blue')])),
    'it lets others be edited',
  ),
  one(
    'a role to write a status',
    ({ empty }) => make(empty.role('lns:edit:empty', [{ ...editRule('empty'), resources: ['lnamespaces/status'] }])),
    'it lets others be edited',
  ),
  one(
    'a role to override',
    ({ empty }) => make(empty.role('lns:edit:empty', [{ ...editRule('empty'), verbs: ['override'] }])),
    'it lets others be edited',
  ),
  one(
    'a role of another name',
    ({ empty }) => make(empty.role('others', [editRule('empty')])),
    'another name than roles of tenants',
  ),
  one(
    'a binding of a role of another name',
    ({ empty }) => make(empty.binding('others', [user('x')])),
    'another name than roles of tenants',
  ),
  one(
    'a binding of cluster-admin',
    ({ empty }) => make(empty.binding('lns:edit:empty', [user('x')], { role: 'cluster-admin' })),
    'the binding has another role than its name',
  ),
  one(
    'somebody who becomes another',
    ({ blue }) => make(selfBinding(blue, 'x', user('eve'))),
    'it binds another than the person',
  ),
  one(
    'a group that becomes a person',
    ({ blue }) => make(selfBinding(blue, 'x', group('x'))),
    'it binds another than the person',
  ),
  one(
    'a group of sudoers',
    ({ empty }) => make(empty.binding('lns:sudo:empty', [group('x')])),
    'it lets others than people become sudoers',
  ),
  one(
    'managers of another',
    ({ empty }) => make(empty.binding('lns:edit:new', [user('x')])),
    'the binding belongs to another LNamespace',
  ),
]
