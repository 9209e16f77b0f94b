/** What the people of tenants may do, asked of the API server's authorizer. */
import type { KubeObject } from '../../../../src/base/domain.ts'
import { sudoGroup } from '../../../../src/tenants/names.ts'
import { tenantGroup } from '../../../../src/tenants/words.ts'
import type { AdminKube } from '../../cluster/kube.ts'
import type { Subject } from '../objects.ts'

const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' }
const stranger = { kind: 'User', name: 'stranger' }

interface Question {
  readonly words: string
  readonly spec: object
}

/** The requester: a user, the member of a group, or an account. */
const asking = ({ kind, name, namespace }: Subject) =>
  kind === 'Group'
    ? { user: 'somebody', groups: [name] }
    : { user: kind === 'User' ? name : `system:serviceaccount:${namespace}:${name}` }

const lns = (tenant: string, verb: string) => ({ group: tenantGroup, resource: 'lnamespaces', name: tenant, verb })

function questionsOf(tenant: string, person: Subject): readonly Question[] {
  const group = { resource: 'groups', name: sudoGroup(tenant), verb: 'impersonate' }
  const asked = {
    work: { verb: 'create', resource: 'pods', namespace: tenant },
    'see secrets': { verb: 'get', resource: 'secrets', namespace: tenant },
    edit: lns(tenant, 'patch'),
    'become root': group,
    'be himself': { resource: 'users', name: person.name, verb: 'impersonate' },
  }
  return Object.entries(asked).map(([verb, resourceAttributes]) => ({
    words: `${person.kind} ${person.name}: ${verb} in ${tenant}`,
    spec: { ...asking(person), resourceAttributes },
  }))
}

/** About whoever impersonates the group of a tenant. */
function rootQuestions(tenant: string): readonly Question[] {
  const bind = { group: 'rbac.authorization.k8s.io', resource: 'roles', verb: 'bind' }
  const asked = { bind: { ...bind, namespace: tenant }, edit: lns(tenant, 'delete'), 'bind outside': bind }
  return Object.entries(asked).map(([verb, resourceAttributes]) => ({
    words: `root: ${verb} in ${tenant}`,
    spec: { user: 'somebody', groups: [sudoGroup(tenant)], resourceAttributes },
  }))
}

/** Every question about every tenant and everybody whom any of them names, and about a stranger. */
export function questionsAbout(tenants: readonly KubeObject[]): readonly Question[] {
  const named = tenants.flatMap(({ spec }) => {
    const { users = [], managers = [], sudoers = [] } = spec as Readonly<Record<string, readonly Subject[]>>
    return [...users, ...managers, ...sudoers]
  })
  const people = new Map([...named, stranger].map(each => [JSON.stringify(asking(each)), each]))
  return tenants.flatMap(({ metadata: { name } }) => [
    ...rootQuestions(name),
    ...[...people.values()].flatMap(each => questionsOf(name, each)),
  ])
}

export async function isAllowed(kube: AdminKube, { spec }: Question): Promise<boolean> {
  const { status, body } = await kube.request('POST', path, { ...review, spec })
  if (status !== 201) throw new Error(`${status} ${body.message}`)
  return body.status.allowed
}

/** The words of all questions whose answer is yes, in order. */
export async function grants(kube: AdminKube, tenants: readonly KubeObject[]): Promise<readonly string[]> {
  const questions = questionsAbout(tenants)
  const answers = await Promise.all(questions.map(question => isAllowed(kube, question)))
  return questions.flatMap(({ words }, index) => (answers[index] ? [words] : [])).toSorted()
}
