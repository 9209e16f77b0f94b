/** The Hub's rights in a cluster, by the ServiceAccount of the examples: none on Kubernetes' own objects. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { run } from '../../dev/process/command.ts'
import type { KubeObject } from '../../src/base/domain.ts'
import { configSchema } from '../../src/config/schema.ts'
import { labels } from '../../src/kube/labels.ts'
import { AdminKube } from '../kit/cluster/kube.ts'
import { readExample, type Values, valuesFor } from '../kit/hub/helm.ts'
import { testBed } from '../kit/testbed.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { kubectl, kubeconfig } = testBed()
const account = parse(readFileSync(`${root}/hub/examples/serviceaccount.yaml`, 'utf8')) as KubeObject & Values
const { name } = account.metadata
const namespace = `hub-${randomBytes(4).toString('hex')}`

const admin = new AdminKube(kubeconfig)

beforeAll(async () => {
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await admin.create({ ...account, metadata: { ...account.metadata, namespace } })
})
afterAll(async () => {
  await admin.delete('Namespace', namespace)
  admin.close()
})

/** The lines of `kubectl auth can-i --list`, without the head. */
async function canI(serviceAccount: string): Promise<string[]> {
  const as = `system:serviceaccount:${namespace}:${serviceAccount}`
  const list = ['auth', 'can-i', '--list', '--as', as, '--namespace', namespace]
  const text = await run(kubectl, ['--kubeconfig', kubeconfig, ...list])
  return text.trim().split('\n').slice(1)
}

/** Lines about objects; lines about paths begin with blanks. */
const ofObjects = (lines: readonly string[]) => lines.filter(line => !/^\s/.test(line))
const kindsIn = (lines: readonly string[]) => ofObjects(lines).map(line => line.split(/\s+/)[0])

test('the Hub’s account has no right on any object of the cluster, as the page shows', async () => {
  const lines = await canI(name)
  expect(kindsIn(lines).toSorted()).toEqual([
    'selfsubjectaccessreviews.authorization.k8s.io',
    'selfsubjectreviews.authentication.k8s.io',
    'selfsubjectrulesreviews.authorization.k8s.io',
  ])
  const page = readFileSync(`${root}/docs/spawner.md`, 'utf8')
  for (const line of ofObjects(lines)) expect(page).toContain(line.trimEnd())
  const paths = lines.filter(line => !ofObjects(lines).includes(line)).map(line => line.trim().split(/\s+/))
  expect(paths.filter(([, , verbs]) => verbs !== '[get]')).toEqual([])
})

test('the list of rights would show those of kubespawner', async () => {
  const resources = ['pods', 'persistentvolumeclaims', 'secrets', 'services']
  const role = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'kubespawner', namespace },
  }
  const rules = [{ apiGroups: [''], resources, verbs: ['get', 'create', 'delete'] }]
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await admin.request('POST', `${path}/roles`, { ...role, rules })
  await admin.request('POST', `${path}/rolebindings`, {
    ...{
      ...role,
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'kubespawner' },
    },
    subjects: [{ kind: 'ServiceAccount', name: 'kubespawner', namespace }],
  })
  expect(kindsIn(await canI('kubespawner'))).toEqual(expect.arrayContaining(resources))
})

test('the Hub’s pods get no token, and the chart has no Role', () => {
  expect(account.automountServiceAccountToken).toBe(false)
  const { rbac, hub } = valuesFor({}) as { rbac: Values; hub: { extraPodSpec: Values } }
  expect([rbac.create, hub.extraPodSpec.automountServiceAccountToken]).toEqual([false, false])
})

test('labs reach the Hub by the label of their namespaces, and the API server accepts the policy of the way back', async () => {
  const { hub } = valuesFor({}) as { hub: { networkPolicy: { ingress: { from: object[] }[] } } }
  const matchLabels = { [labels.installation]: configSchema.shape.installation.parse(undefined) }
  expect(hub.networkPolicy.ingress[0]!.from).toEqual([{ namespaceSelector: { matchLabels } }])
  const policies = '/apis/networking.k8s.io/v1/namespaces/skylab/networkpolicies?dryRun=All&fieldValidation=Strict'
  expect((await admin.request('POST', policies, readExample('network-policy.yaml'))).status).toBe(201)
})
