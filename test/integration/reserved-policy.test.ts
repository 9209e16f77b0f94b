/** Only the controller and administrators can write the labels and annotations that the program trusts. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { creationPath, objectPath } from '../../src/kube/kinds.ts'
import { annotations, labels, reserved } from '../../src/kube/labels.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import { testBed } from '../kit/testbed.ts'

const name = `reserved-${randomBytes(4).toString('hex')}`
const admin = new AdminKube(testBed().kubeconfig)
const rbac = '/apis/rbac.authorization.k8s.io/v1'
/** An account with all rights on pods and namespaces of the whole cluster. */
const tenant = { 'Impersonate-User': `system:serviceaccount:${name}:tenant` }
/** A second installation: another account, with the controller's ClusterRoles. */
const second = { 'Impersonate-User': `system:serviceaccount:${name}:second` }
const daemonSets = { 'Impersonate-User': 'system:serviceaccount:kube-system:daemon-set-controller' }

const marks = { [labels.installation]: name, [labels.op]: '7' }

const namespaceOf = (metadata: object = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${name}-new`, ...metadata } },
})
const podOf = (metadata: object = {}): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'new', namespace: name, ...metadata } },
  spec: { containers: [{ name: 'lab', image: 'x' }], nodeSelector: { nowhere: name } },
})

const bind = (role: string, account: string, what = account) => ({
  ...{
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `${name}-${what}` },
  },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'ServiceAccount', name: account, namespace: name }],
})

async function post(path: string, body: object): Promise<void> {
  const { status } = await admin.request('POST', path, body)
  expect(status).toBe(201)
}

beforeAll(async () => {
  await admin.create(namespaceOf({ name, labels: marks, annotations: { [annotations.user]: 'ada' } }))
  const all = ['', '/status', '/finalize', '/binding'].flatMap(sub => [`namespaces${sub}`, `pods${sub}`])
  await post(`${rbac}/clusterroles`, {
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name } },
    rules: [{ apiGroups: [''], resources: all, verbs: ['*'] }],
  })
  await post(`${rbac}/clusterrolebindings`, bind(name, 'tenant'))
  await post(`${rbac}/clusterrolebindings`, bind('skylab', 'second'))
  await post(`${rbac}/clusterrolebindings`, bind('skylab-marks', 'second', 'marks'))
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } }
  const made = await admin.request('POST', creationPath('v1', 'ServiceAccount', name), account)
  expect([201, 409]).toContain(made.status)
  await admin.create(podOf({ name: 'standing', labels: marks }))
  await eventually('the rights', async () => (await create(tenant, namespaceOf())).status === 201)
})

afterAll(async () => {
  for (const account of ['tenant', 'second', 'marks'])
    await admin.request('DELETE', `${rbac}/clusterrolebindings/${name}-${account}`)
  await admin.request('DELETE', `${rbac}/clusterroles/${name}`)
  await admin.delete('Namespace', name)
  admin.close()
})

type Sender = Readonly<Record<string, string>>

function create(sender: Sender, made: KubeObject): Promise<KubeAnswer> {
  const path = creationPath(made.apiVersion, made.kind, made.metadata.namespace)
  return admin.request('POST', `${path}?dryRun=All`, made, sender)
}

const standingPod = { apiVersion: 'v1', kind: 'Pod', namespace: name, name: 'standing' }
const standingNamespace = { apiVersion: 'v1', kind: 'Namespace', name }

function change(sender: Sender, ref: typeof standingNamespace, metadata: object, sub = ''): Promise<KubeAnswer> {
  return admin.request('PATCH', `${objectPath(ref)}${sub}?dryRun=All`, { metadata }, sender)
}

function expectRefused({ status, body }: KubeAnswer, key: string): void {
  expect(body.message).toContain("ValidatingAdmissionPolicy 'skylab-reserved'")
  expect(body.message).toContain(key)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

describe('a tenant with all rights on pods and namespaces', () => {
  test.each(reserved)('is refused an object with %s', async key => {
    for (const made of [namespaceOf, podOf]) {
      expectRefused(await create(tenant, made({ labels: { [key]: '7' } })), key)
      expectRefused(await create(tenant, made({ annotations: { [key]: '7' } })), key)
    }
  })

  test.each([
    ['to change the op', { labels: { [labels.op]: '8' } }, labels.op],
    ['to take the op away', { labels: { [labels.op]: null } }, labels.op],
    ['to take the installation away', { labels: { [labels.installation]: null } }, labels.installation],
    ['to write a record', { annotations: { [annotations.record]: '{}' } }, annotations.record],
    ['to write the MAC of one', { annotations: { [annotations.recordMac]: 'a.b' } }, annotations.recordMac],
    ['to name a user', { annotations: { [annotations.user]: 'eve' } }, annotations.user],
  ])('is refused %s', async (_, metadata, key) => {
    expectRefused(await change(tenant, standingPod, metadata), key)
    expectRefused(await change(tenant, standingPod, metadata, '/status'), key)
    expectRefused(await change(tenant, standingNamespace, metadata), key)
    expectRefused(await change(tenant, standingNamespace, metadata, '/status'), key)
  })

  test('is refused a record written through a binding', async () => {
    const metadata = { name: 'standing', namespace: name, annotations: { [annotations.record]: '{}' } }
    const binding = { apiVersion: 'v1', kind: 'Binding', metadata, target: { kind: 'Node', name: 'nowhere' } }
    const path = `${objectPath(standingPod)}/binding?dryRun=All`
    expectRefused(await admin.request('POST', path, binding, tenant), annotations.record)
  })

  test('may do everything else, even with marked objects', async () => {
    for (const made of [namespaceOf, podOf]) {
      expect((await create(tenant, made())).status).toBe(201)
      const people = { 'user.skylab/idle': 'never' }
      expect((await create(tenant, made({ labels: people, annotations: people }))).status).toBe(201)
    }
    for (const [ref, sub] of [
      [standingPod, ''],
      [standingPod, '/status'],
      [standingNamespace, ''],
      [standingNamespace, '/status'],
    ] as const) {
      const metadata = { labels: { mine: 'yes' }, annotations: { 'user.skylab/keep-until': '2030-01-01' } }
      expect((await change(tenant, ref, metadata, sub)).status).toBe(200)
    }
    const { body } = await admin.request('GET', objectPath(standingNamespace))
    const finalized = await admin.request('PUT', `${objectPath(standingNamespace)}/finalize?dryRun=All`, body, tenant)
    expect(finalized.status).toBe(200)
  })
})

test('the controller of DaemonSets makes no pod with an op, and makes those of a prepull', async () => {
  expectRefused(await create(daemonSets, podOf({ labels: marks })), labels.op)
  const prepull = { 'skylab/prepull': name, 'app.kubernetes.io/component': 'prepull' }
  expect((await create(daemonSets, podOf({ labels: prepull }))).status).toBe(201)
})

test('an account bound to the controller’s role may mark its objects, and so may administrators', async () => {
  for (const sender of [second, {}]) {
    expect((await create(sender, namespaceOf({ labels: marks }))).status).toBe(201)
  }
  const repaired = await change({}, standingNamespace, { labels: { [labels.op]: '8' } })
  expect(repaired.status).toBe(200)
})

test('the policy and the program have the same list', () => {
  const policy = readFileSync(new URL('../../k8s/base/policy.yaml', import.meta.url), 'utf8')
  expect(policy).toContain(`[${reserved.map(key => `'${key}'`).join(', ')}]`)
})
