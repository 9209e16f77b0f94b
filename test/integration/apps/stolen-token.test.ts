/**
 * A thief with the token of the account of apps: each attempt, and its refusal. To run apps in namespaces of groups, to change, stop
 * and delete all apps and to read them stay in the thief's hand. docs/apps-operators.md has the table.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { grantedRights, rightsOf } from '../../../dev/kube/rights.ts'
import { appPolicy, appProbe } from '../../../src/apps/probe.ts'
import { templateParent } from '../../../src/apps/template.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'
import { refOf } from '../../../src/reconcile/plan.ts'
import { AppFleet } from '../../kit/apps/fleet.ts'
import { application } from '../../kit/apps/objects.ts'
import { seedTemplate } from '../../kit/apps/seed.ts'
import type { KubeAnswer } from '../../kit/cluster/kube.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { at, rendered } from './policy.cases.ts'

let fleet: AppFleet
/** Of an ingress or another program: it serves no group. */
let other: string
/** An app of the group `a`, and what it is made of. */
let app: KubeObject
let own: ReturnType<typeof rendered>

beforeAll(async () => {
  fleet = await AppFleet.start({ replicas: 0 })
  other = `${fleet.name}-ingress`
  await fleet.namespace(other)
  app = await fleet.make('blue', { stop: true })
  own = rendered(app)
  const selector = { app: 'theirs' }
  const template = { metadata: { labels: selector }, spec: { containers: [{ name: 'x', image: 'x' }] } }
  const planted = [
    theirs('Service', 'v1', { ports: [{ port: 1 }] }),
    theirs('NetworkPolicy', 'networking.k8s.io/v1', { podSelector: {} }),
    theirs('Deployment', 'apps/v1', { replicas: 0, selector: { matchLabels: selector }, template }),
    { ...theirs('Secret', 'v1'), stringData: { password: 'hunter2' } },
  ]
  for (const object of [...planted, ...Object.values(own)]) await fleet.must('POST', collectionOf(object), object)
  const probe = appProbe(fleet.name)
  await eventually('the policy', async () => (await send('POST', collectionOf(probe), probe)).status === 403)
})
afterAll(() => fleet?.stop())

const theirs = (kind: string, apiVersion: string, spec?: object): KubeObject =>
  ({ apiVersion, kind, metadata: { name: 'theirs', namespace: other }, ...(spec && { spec }) }) as KubeObject
const collectionOf = ({ apiVersion, kind, metadata }: KubeObject) => creationPath(apiVersion, kind, metadata.namespace)
const into = (object: KubeObject, namespace: string): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, namespace },
})

const send = (method: string, path: string, body?: object): Promise<KubeAnswer> =>
  fleet.account.request(method, `${path}?dryRun=All`, body)

function expectForbidden({ status, body }: KubeAnswer, by: 'rights' | 'policy', words = ''): void {
  const refusal: string = body.message ?? ''
  expect(refusal).toContain(by === 'rights' ? ' cannot ' : `ValidatingAdmissionPolicy '${appPolicy}' `)
  expect(refusal).toContain(words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

/** To ask about itself is everybody's right. */
const ofEveryone = /^(authorization|authentication)\.k8s\.io\/self\w+ create$/

const ofTemplates = /\/phapptemplates /

test.each(['group', 'other', 'kube-system', 'templates'])(
  'the account has in a namespace (%s) the rights of the file',
  async where => {
    const namespace = { group: fleet.of('a'), other, templates: fleet.name }[where] ?? where
    const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'
    const { body } = await fleet.account.request('POST', path, { spec: { namespace } })
    const rights = rightsOf(body.status.resourceRules).filter(right => !ofEveryone.test(right))
    // Those to templates hold in the one namespace where an operator binds them.
    const granted = (await grantedRights('apps')).filter(right => where === 'templates' || !ofTemplates.test(right))
    expect(new Set(rights)).toEqual(new Set(granted))
  },
)

describe('the thief has', () => {
  test('any image to run as an app in a namespace of a group', async () => {
    const { Deployment } = rendered(app, 'green')
    expect((await send('POST', collectionOf(Deployment), Deployment)).status).toBe(201)
  })

  test('apps to make, and all apps to stop, to change and to delete', async () => {
    const path = objectPath(refOf(app))
    const another = application(fleet.of('a'), 'planted')
    const answers = await Promise.all([
      send('POST', collectionOf(app), another),
      send('PATCH', path, { spec: { stop: true } }),
      send('PATCH', path, { spec: { scope: 'public' } }),
      send('DELETE', path),
    ])
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 200])
  })

  test('the variables of all Deployments to read', async () => {
    expect((await fleet.account.request('GET', '/apis/apps/v1/deployments')).status).toBe(200)
  })
})

test('the account writes templates in the namespace of templates, and reads and writes none elsewhere', async () => {
  const { apiVersion, kind } = templateParent
  const template = (namespace: string) => ({ ...seedTemplate(), metadata: { name: 'planted', namespace } })
  const made = await send('POST', creationPath(apiVersion, kind, fleet.name), template(fleet.name))
  expect(made.status).toBe(201)
  for (const namespace of [other, fleet.of('a'), 'kube-system']) {
    const path = creationPath(apiVersion, kind, namespace)
    expectForbidden(await send('POST', path, template(namespace)), 'rights')
    expectForbidden(await send('GET', path), 'rights')
  }
  const labelled = { ...template(fleet.name), metadata: { ...template(fleet.name).metadata, labels: { a: 'b' } } }
  expectForbidden(await send('POST', creationPath(apiVersion, kind, fleet.name), labelled), 'policy')
})

describe('the thief has no right', () => {
  test.each(['Service', 'NetworkPolicy', 'Deployment', 'Secret'])('to delete a %s of others', async kind => {
    const versions: Readonly<Record<string, string>> = { NetworkPolicy: 'networking.k8s.io/v1', Deployment: 'apps/v1' }
    const path = objectPath(refOf(theirs(kind, versions[kind] ?? 'v1')))
    expectForbidden(await send('DELETE', path), 'rights')
    expectForbidden(await send('DELETE', path.replace(/\/theirs$/, '')), 'rights')
  })

  test('to delete what an app is made of', async () => {
    for (const object of Object.values(own)) expectForbidden(await send('DELETE', objectPath(refOf(object))), 'rights')
  })

  test.each<[string, string, () => string, object?]>([
    ['to read a Secret', 'GET', () => `/api/v1/namespaces/${other}/secrets/theirs`],
    ['to list Secrets', 'GET', () => '/api/v1/secrets'],
    ['to change a Secret', 'PATCH', () => `/api/v1/namespaces/${other}/secrets/theirs`, {}],
    ['to make a pod', 'POST', () => `/api/v1/namespaces/${fleet.of('a')}/pods`, {}],
    ['to delete a pod', 'DELETE', () => `/api/v1/namespaces/${fleet.of('a')}/pods/x`],
    ['to run programs in a pod', 'POST', () => `/api/v1/namespaces/${other}/pods/x/exec`],
    ['to mint a token', 'POST', () => `/api/v1/namespaces/${other}/serviceaccounts/default/token`, {}],
    ['to mark a namespace', 'PATCH', () => `/api/v1/namespaces/${other}`, {}],
    ['to delete a quota of others', 'DELETE', () => `/api/v1/namespaces/${other}/resourcequotas/theirs`],
    ['to make a tenant', 'POST', () => '/apis/gial.lblw.dev/v1beta1/lnamespaces', {}],
    ['to take its policy away', 'DELETE', () => `${admission}/validatingadmissionpolicies/${appPolicy}`],
    ['to take its binding away', 'DELETE', () => `${admission}/validatingadmissionpolicybindings/${appPolicy}`],
    ['to change its role', 'PATCH', () => `/apis/rbac.authorization.k8s.io/v1/clusterroles/${appPolicy}`, {}],
  ])('%s', async (_, method, pathOf, body) => expectForbidden(await send(method, pathOf(), body), 'rights'))
})

const admission = '/apis/admissionregistration.k8s.io/v1'

describe('the thief is refused by the policy', () => {
  test.each(['Deployment', 'Service', 'NetworkPolicy'] as const)('a %s where no group is', async kind => {
    const object = into(own[kind], other)
    expectForbidden(await send('POST', collectionOf(object), object), 'policy', 'not known as one of a group')
  })

  test('pods that read a Secret where no group is', async () => {
    const object = at(into(own.Deployment, other), 'spec.template.spec.volumes.1', {
      ...{ name: 'x', secret: { secretName: 'theirs' } },
    })
    expectForbidden(await send('POST', collectionOf(object), object), 'policy', 'not known as one of a group')
  })

  test.each(['Service', 'NetworkPolicy', 'Deployment'])('a %s of others to change', async kind => {
    const versions: Readonly<Record<string, string>> = { NetworkPolicy: 'networking.k8s.io/v1', Deployment: 'apps/v1' }
    const path = objectPath(refOf(theirs(kind, versions[kind] ?? 'v1')))
    expectForbidden(await send('PATCH', path, { metadata: { labels: { app: 'primehub-app' } } }), 'policy')
  })
})
