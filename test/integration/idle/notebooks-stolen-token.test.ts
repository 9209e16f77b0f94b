/**
 * A thief with the token of the account of notebooks, on a cluster of its own: each attempt, and its refusal. To read, to stop and
 * to keep alive stay in the thief's hand. `docs/idle-notebooks.md` has the table.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { notebooksAccount } from '../../../dev/kube/notebooks.ts'
import { grantedRights, rightsOf } from '../../../dev/kube/rights.ts'
import { stamps } from '../../../src/kube/labels.ts'
import type { AdminKube, KubeAnswer } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { NotebooksSite, notebook, pathOf, statefulSet, team } from '../../kit/idle/notebooks-site.ts'
import { objects, time } from './notebooks-fence.cases.ts'

let site: NotebooksSite
let thief: AdminKube

const within = `/api/v1/namespaces/${team}`
const own = '/api/v1/namespaces/skylab'
const password = { name: 'PASSWORD', value: 'hunter2' }
const pod = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'theirs', namespace: team } },
  spec: { containers: [{ name: 'main', image: 'x', env: [password] }] },
}

beforeAll(async () => {
  site = await NotebooksSite.start(objects)
  thief = await site.thief()
  await eventually('the account of pods', () => site.kube.get('ServiceAccount', 'default', team))
  await site.must('POST', `${within}/pods`, pod)
  await site.must('POST', `${within}/secrets`, { metadata: { name: 'theirs' }, stringData: { password: 'hunter2' } })
})
afterAll(async () => {
  thief?.close()
  await site?.close()
})

const dry = (path: string) => `${path}${path.includes('?') ? '&' : '?'}dryRun=All`

function expectForbidden({ status, body }: KubeAnswer, by: 'rights' | 'policy', words = ''): void {
  const refusal: string = body.message ?? ''
  expect(refusal).toContain(by === 'rights' ? ' cannot ' : `ValidatingAdmissionPolicy '${notebooksAccount}' `)
  expect(refusal).toContain(words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

/** To ask about itself is everybody's right. */
const ofEveryone = /^(authorization|authentication)\.k8s\.io\/self\w+ create$/

test.each([team, 'skylab', 'kube-system'])(
  'the account has in %s the rights of the file, and no others',
  async namespace => {
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
    const { body } = await thief.request('POST', path, { spec: { namespace } })
    const rights = rightsOf(body.status.resourceRules).filter(right => !ofEveryone.test(right))
    expect(rights.toSorted()).toEqual((await grantedRights('notebooks')).toSorted())
  },
)

describe('the thief has', () => {
  test.each([
    ['Notebooks', '/apis/kubeflow.org/v1/notebooks', 'VARIABLE_499'],
    ['StatefulSets', '/apis/apps/v1/statefulsets', 'VARIABLE_499'],
    ['pods', '/api/v1/pods', password.value],
  ])('all %s to read, with the values in their env', async (_, path, value) => {
    const { status, body } = await thief.request('GET', path)
    expect([status, JSON.stringify(body).includes(value)]).toEqual([200, true])
  })

  test('all notebooks and all labelled StatefulSets to stop, and to keep alive', async () => {
    for (const [key, value] of [
      [stamps.stopped, time],
      [stamps.keepUntil, '2099-01-01T00:00:00Z'],
    ] as const)
      for (const path of [pathOf('Notebook', 'ada'), pathOf('StatefulSet', 'bob')]) {
        const patch = { metadata: { annotations: { [key]: value } } }
        expect((await thief.request('PATCH', dry(path), patch)).status).toBe(200)
      }
  })
})

describe('the thief is refused to read', () => {
  test.each([
    ['a Secret', `${within}/secrets/theirs`],
    ['all Secrets', '/api/v1/secrets'],
    ['the password of Redis', `${own}/secrets/skylab-redis`],
    ['a ConfigMap', `${within}/configmaps/kube-root-ca.crt`],
    ['the log of a pod', `${within}/pods/theirs/log`],
    ['one pod by itself', `${within}/pods/theirs`],
    ['events', '/api/v1/events'],
    ['Services', '/api/v1/services'],
    ['nodes', '/api/v1/nodes'],
    ['Deployments', '/apis/apps/v1/deployments'],
  ])('%s', async (_, path) => expectForbidden(await thief.request('GET', path), 'rights'))
})

describe('the thief has no right', () => {
  const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  test.each<[string, string, string, object?]>([
    ['to make a notebook', 'POST', pathOf('Notebook'), notebook('eve')],
    ['to make a StatefulSet', 'POST', pathOf('StatefulSet'), statefulSet('eve')],
    ['to replace a notebook', 'PUT', pathOf('Notebook', 'ada'), notebook('ada')],
    ['to replace a StatefulSet', 'PUT', pathOf('StatefulSet', 'bob'), statefulSet('bob')],
    ['to delete a notebook', 'DELETE', pathOf('Notebook', 'ada')],
    ['to delete all notebooks', 'DELETE', pathOf('Notebook')],
    ['to delete a StatefulSet', 'DELETE', pathOf('StatefulSet', 'bob')],
    ['to scale one by its scale', 'PATCH', `${pathOf('StatefulSet', 'bob')}/scale`, { spec: { replicas: 0 } }],
    ['to write the status of a notebook', 'PATCH', `${pathOf('Notebook', 'ada')}/status`, {}],
    ['to make a pod', 'POST', `${within}/pods`, { ...pod, metadata: { name: 'eve', namespace: team } }],
    ['to change a pod', 'PATCH', `${within}/pods/theirs`, {}],
    ['to delete a pod', 'DELETE', `${within}/pods/theirs`],
    ['to evict a pod', 'POST', `${within}/pods/theirs/eviction`, {}],
    ['to run programs in a pod', 'POST', `${within}/pods/theirs/exec?command=id`],
    ['to reach a port of a pod', 'POST', `${within}/pods/theirs/portforward`],
    ['to ask a pod through the API server', 'GET', `${within}/pods/theirs/proxy/`],
    ['to write an event', 'POST', `${within}/events`, {}],
    ['to mint a token of another account', 'POST', `${within}/serviceaccounts/default/token`, {}],
    ['to change its own role', 'PATCH', `${roles}/${notebooksAccount}`, { rules: [] }],
    ['to take its policy away', 'DELETE', `${policies}/${notebooksAccount}`],
    ['to start more replicas of its own', 'PATCH', '/apis/apps/v1/namespaces/skylab/deployments/skylab-notebooks', {}],
  ])('%s', async (_, method, path, body) => expectForbidden(await thief.request(method, dry(path), body), 'rights'))

  test('to act as somebody else', async () => {
    const as = { 'Impersonate-User': 'admin' }
    expectForbidden(await thief.request('GET', '/api/v1/namespaces', undefined, as), 'rights')
  })
})

describe('the policy refuses the thief', () => {
  const image = { template: { spec: { containers: [{ name: 'main', image: 'example.org/miner:1' }] } } }
  test.each<[string, string, object, string]>([
    ['an image of its own in a notebook', pathOf('Notebook', 'ada'), { spec: image }, 'what the notebook is'],
    ['one in a labelled StatefulSet', pathOf('StatefulSet', 'bob'), { spec: image }, 'what the StatefulSet runs'],
    ['one in any other', pathOf('StatefulSet', 'redis'), { spec: image }, 'nobody asked'],
    ['to halt any other', pathOf('StatefulSet', 'redis'), { spec: { replicas: 0 } }, 'nobody asked'],
    [
      'to start a notebook',
      pathOf('Notebook', 'stopped'),
      { metadata: { annotations: { [stamps.stopped]: null } } },
      'take a stop away',
    ],
  ])('%s', async (_, path, patch, words) => {
    expectForbidden(await thief.request('PATCH', dry(path), patch), 'policy', words)
  })
})
