/** The rights of the controller's ServiceAccount: exactly those of k8s/base/rbac.yaml. */
import { afterAll, describe, expect, test } from 'vitest'
import { readGranted, rightsOf } from '../../dev/kube/rights.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { testBed } from '../kit/testbed.ts'

const admin = new AdminKube(testBed().kubeconfig)
afterAll(() => admin.close())

const { everywhere, within, inLabs, ofIdle } = await readGranted()

/** Rights of every authenticated account: to ask about itself. */
const ofEveryone = /^(authorization|authentication)\.k8s\.io\/self\w+ create$/

/** Asks as the ServiceAccount, as `kubectl auth can-i --as` does. */
async function review(kind: string, spec: object): Promise<KubeAnswer['body']> {
  const path = `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`
  const as = { 'Impersonate-User': 'system:serviceaccount:skylab:skylab' }
  const { status, body } = await admin.request('POST', path, { apiVersion: 'authorization.k8s.io/v1', kind, spec }, as)
  expect(status).toBe(201)
  return body.status
}

/** Whether the account has a right, given as `group/resource verb`. */
async function mayUse(right: string, namespace?: string): Promise<boolean> {
  const [what = '', verb] = right.split(' ')
  const [group, resource, subresource = ''] = what.split('/')
  const resourceAttributes = { group, resource, subresource, verb, ...(namespace && { namespace }) }
  return (await review('SelfSubjectAccessReview', { resourceAttributes })).allowed
}

describe.each(['skylab', 'kube-system', 'default', 'nublado-ada'])('the rights in namespace %s', namespace => {
  test('the API server lists the rights of the file, and no others', async () => {
    const { incomplete, resourceRules, nonResourceRules } = await review('SelfSubjectRulesReview', { namespace })
    expect(incomplete).toBe(false)
    // Installations of other tests come and go: their rights are bound to a name, belong to the policies, or are for stamps.
    const ofFile = resourceRules.filter(
      ({ apiGroups, resources, resourceNames }: KubeAnswer['body']) =>
        resources.includes('marks') ||
        resources.includes('clusterroles') ||
        (!resourceNames && apiGroups[0] !== 'skylab.dev'),
    )
    // Each installation binds the account to the roles of the file once more.
    const known = (right: string) => ofEveryone.test(right) || ofIdle.includes(right)
    const rights = [...new Set(rightsOf(ofFile).filter(right => !known(right)))]
    expect(rights.toSorted()).toEqual([...everywhere, ...(within[namespace] ?? [])].toSorted())
    const paths: string[] = nonResourceRules.flatMap(({ nonResourceURLs }: KubeAnswer['body']) => nonResourceURLs)
    const harmless = /^\/(apis?|openapi|version|healthz|livez|readyz|\.well-known\/\S+|openid\/\S+)(\/\*?)?$/
    expect(paths.filter(path => !harmless.test(path))).toEqual([])
  })
})

/** The right to bind is granted for one role by its name. */
test.each(everywhere.filter(right => !right.endsWith(' bind')))('the controller has the right %s', async right => {
  expect(await mayUse(right)).toBe(true)
})

test.each(inLabs)('the controller lacks, before it binds itself, the right %s', async right => {
  expect([await mayUse(right), await mayUse(right, 'skylab'), await mayUse(right, 'nublado-ada')]).toEqual([
    false,
    false,
    false,
  ])
})

const ofNamespaces = Object.entries(within).flatMap(([namespace, rights]) => rights.map(right => [namespace, right]))

test.each(ofNamespaces)('the controller has only in namespace %s the right %s', async (namespace, right) => {
  expect([await mayUse(right!, namespace), await mayUse(right!, 'nublado-ada'), await mayUse(right!)]).toEqual([
    true,
    false,
    false,
  ])
})

test.each([
  ['to read the Secrets of others by asking for all', '/secrets list'],
  ['to watch them', '/secrets watch'],
  ['to change an existing lab', '/pods update'],
  ['to change its state', '/pods/status patch'],
  ['to run programs in one', '/pods/exec create'],
  ['to change a namespace', '/namespaces update'],
  ['to delete many at once', '/namespaces deletecollection'],
  ['to reach kubelets', '/nodes/proxy get'],
  ['to change nodes', '/nodes patch'],
  ['to act as somebody else', '/users impersonate'],
  ['to hand out rights', 'rbac.authorization.k8s.io/clusterroles bind'],
  ['to extend its own', 'rbac.authorization.k8s.io/clusterroles escalate'],
  ['to make tokens', '/serviceaccounts/token create'],
  ['to take its own policy away', 'admissionregistration.k8s.io/validatingadmissionpolicies delete'],
  ['to start more replicas', 'apps/deployments patch'],
])('the controller has no right %s', async (_, right) => {
  expect([await mayUse(right), await mayUse(right, 'skylab')]).toEqual([false, false])
})

test('the API server refuses a request without the right', async () => {
  const as = { 'Impersonate-User': 'system:serviceaccount:skylab:skylab' }
  const answer = await admin.request('GET', '/api/v1/secrets', undefined, as)
  expect([answer.status, answer.body.reason]).toEqual([403, 'Forbidden'])
})
