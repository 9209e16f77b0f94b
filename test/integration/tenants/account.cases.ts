/** Requests of the account of the controller, with its own rights: RBAC allows all of them, and the policy most. */
import type { KubeMetadata, KubeObject } from '../../../src/base/domain.ts'
import { escaped, impersonate, type TenantObjects, user } from '../../kit/tenants/objects.ts'
import { type Ask, change, make, remove } from '../../kit/tenants/site.ts'
import { type Case, plainNamespace, type World } from './world.ts'

const policy = 'skylab-tenants-controller'
const by = 'controller'
const nasty = 'Ada=B/C%2F:d@example.org'

export const one = (title: string, ask: (world: World) => Ask, words?: string): Case => ({
  ...{ title, by, ask },
  ...(words !== undefined && { policy, words }),
})

export const selfRole = (tenant: TenantObjects, name: string, more = {}) =>
  tenant.role(`lns:self:${escaped(name)}`, [impersonate('users', name)], more)
export const selfBinding = (tenant: TenantObjects, name: string, subject = user(name)) =>
  tenant.binding(`lns:self:${escaped(name)}`, [subject])
export const developer = ({ blue }: World) => blue.roleBinding('lns-developer', 'admin', [user('x')])
/** A binding of green under its names, as if blue had made it. */
export const foreign = (world: World, more: Partial<KubeMetadata> = {}): KubeObject =>
  world.blue.roleBinding('lns-developer', 'admin', [user('x')], { namespace: 'green', ...more })

export const admitted: readonly Case[] = [
  one('a namespace', ({ bare }) => make(bare.namespace())),
  one('a label of the namespace', ({ blue }) =>
    change(blue.namespace(), { metadata: { labels: { 'team.example.org/x': 'y', 'istio.io/rev': 'z' } } }),
  ),
  one('a stricter level', ({ blue }) =>
    change(blue.namespace(), { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } }),
  ),
  one('the adoption of a marked namespace', ({ adopted }) =>
    change(adopted.namespace(), { metadata: adopted.namespace().metadata }),
  ),
  one('500 users', ({ blue }) => change(blue.roleBinding('lns-developer', 'admin', []), { subjects: people(500) })),
  one('no users any more', world => change(developer(world), { subjects: null })),
  one('no users any more, of a former tenant', world =>
    change(foreign(world), { subjects: [], metadata: { ownerReferences: [world.blue.owner] } }),
  ),
  one('the removal of users', world => remove(developer(world))),
  one('the removal of a quota', ({ blue }) => remove(blue.platform('ResourceQuota'))),
  one('another quota', ({ blue }) => change(blue.platform('ResourceQuota'), { spec: { hard: { pods: '5' } } })),
  one('a role of a nasty name', ({ blue }) => make(selfRole(blue, nasty))),
  one('a binding of a nasty name', ({ blue }) => make(selfBinding(blue, nasty))),
  one('a role of two tenants', ({ blue, green }) =>
    make(selfRole(blue, 'x', { ownerReferences: [blue.owner, green.owner] })),
  ),
  one('another owner', ({ blue, green }) =>
    change(selfRole(blue, 'ada'), { metadata: { ownerReferences: [blue.owner, green.owner] } }),
  ),
  one('500 sudoers', ({ blue }) => change(blue.binding('lns:sudo:blue', []), { subjects: people(500) })),
  one('no sudoers any more', ({ blue }) => change(blue.binding('lns:sudo:blue', []), { subjects: [] })),
  one('500 managers', ({ blue }) => change(blue.binding('lns:edit:blue', []), { subjects: people(500) })),
  one('the removal of a role', ({ blue }) => remove(selfRole(blue, 'ada'))),
  one('the removal of a binding', ({ blue }) => remove(selfBinding(blue, 'ada'))),
]

export const people = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...user(`p${index}`), apiGroup: 'rbac.authorization.k8s.io' }))

/** RBAC refuses these already: tests send them with all rights, as if somebody had granted too much. */
export const beyondRbac: readonly Case[] = [
  one('the deletion of a namespace', ({ blue }) => remove(blue.namespace()), 'it deletes a namespace'),
  one('the deletion of another’s namespace', () => remove(plainNamespace('plain')), 'it deletes a namespace'),
  one(
    'the end of a namespace',
    ({ blue }) => change(blue.namespace(), { metadata: { annotations: { 'lns.skylab/x': 'y' } } }, '/status'),
    'it deletes a namespace',
  ),
  one(
    'the status of a quota',
    ({ blue }) => change(blue.platform('ResourceQuota'), { status: { hard: { pods: '99' } } }, '/status'),
    'it writes a status',
  ),
]
