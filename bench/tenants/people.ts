/** The tenants of the bench: what is declared, and which rights follow from it. */
import type { KubeObject } from '../../src/base/domain.ts'
import { sudoGroup } from '../../src/tenants/names.ts'
import { tenantGroup, tenantParent } from '../../src/tenants/words.ts'

/** Of an installation's configuration, for tenants that have quota, limits and a NetworkPolicy, and for those without. */
export const platforms = {
  with: {
    quota: { pods: '50', 'requests.cpu': '8', 'requests.memory': '32Gi' },
    limits: { default: { cpu: '1', memory: '1Gi' }, max: { cpu: '4', memory: '8Gi' } },
    network: 'deny',
  },
  without: { network: 'open' },
} as const

export interface Crowd {
  readonly tenants: number
  /** Whether one person is the sudoer of all tenants. Otherwise each tenant has its own. */
  readonly oneSudoer: boolean
}

export const tenantName = (index: number): string => `tenant-${index}`

const user = (name: string) => ({ kind: 'User', name })
export const userOf = (index: number): string => `user-${index}@example.org`
const sudoerOf = (index: number, { oneSudoer }: Crowd) => `sudoer${oneSudoer ? '' : `-${index}`}@example.org`

export const lnamespaceOf = (index: number, crowd: Crowd): KubeObject => ({
  ...tenantParent,
  metadata: { name: tenantName(index) },
  spec: {
    users: [user(userOf(index))],
    managers: [user(`manager-${index}@example.org`)],
    sudoers: [user(sudoerOf(index, crowd))],
  },
})

/** The specification of a SubjectAccessReview. */
export interface Question {
  readonly user: string
  readonly groups?: readonly string[]
  readonly resourceAttributes: object
}

export const mayWork = (name: string, namespace: string): Question => ({
  user: name,
  resourceAttributes: { verb: 'create', resource: 'pods', namespace },
})

/** Every right that a tenant gives. */
export function rightsOf(index: number, crowd: Crowd): readonly Question[] {
  const name = tenantName(index)
  const [sudoer, group] = [sudoerOf(index, crowd), sudoGroup(name)]
  const edit = { group: tenantGroup, resource: 'lnamespaces', verb: 'patch', name }
  return [
    mayWork(userOf(index), name),
    { user: `manager-${index}@example.org`, resourceAttributes: edit },
    { user: sudoer, resourceAttributes: { verb: 'impersonate', resource: 'groups', name: group } },
    { user: sudoer, resourceAttributes: { verb: 'impersonate', resource: 'users', name: sudoer } },
    { user: sudoer, groups: [group], resourceAttributes: { verb: 'delete', resource: 'secrets', namespace: name } },
    { user: sudoer, groups: [group], resourceAttributes: edit },
  ]
}
