/** Two installations on one cluster with separate accounts: both work, and neither touches the other's objects. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { creationPath } from '../../src/kube/kinds.ts'
import { labels } from '../../src/kube/labels.ts'
import { withOwnership } from '../../src/labs/render.ts'
import { grantInstallation, rbacPath, revokeInstallation } from '../kit/cluster/installation.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import { render } from '../kit/labs/plan.ts'
import { testBed } from '../kit/testbed.ts'

const drawn = randomBytes(4).toString('hex')
const admin = new AdminKube(testBed().kubeconfig)

/** An installation with a namespace for its controller. */
const installationOf = (letter: string, more: object = {}) => {
  const installation = `two-${letter}-${drawn}`
  const account = `system:serviceaccount:${installation}:skylab`
  return {
    installation,
    account: { 'Impersonate-User': account, 'Impersonate-Group': 'system:serviceaccounts' },
    config: { installation, lab: { namespacePrefix: `lab-${letter}-${drawn}`, ...more } },
    uid: '',
  }
}
const one = installationOf('a')
const two = installationOf('b', {
  volumes: [{ name: 'software', hostPath: { path: '/opt/software' } }],
  mounts: [{ volume: 'software', path: '/opt/software' }],
})
type Installation = typeof one
const both = [one, two]
const roles = ['skylab', 'skylab-marks']

const bindingOf = (role: string, { installation }: Installation) => ({
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
  metadata: { name: `${installation}-${role}` },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'ServiceAccount', name: 'skylab', namespace: installation }],
})

const marksOf = ({ installation }: Installation) => ({ [labels.installation]: installation, [labels.op]: '7' })
const labOf = ({ config }: Installation, user = 'ada') => `${config.lab.namespacePrefix}-${user}`
const namespaceOf = (name: string, marks: Record<string, string>): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: marks } },
})

async function send(sender: Installation, method: string, path: string, body: object): Promise<KubeAnswer> {
  return admin.request(method, path, body, sender.account)
}

const create = (sender: Installation, made: KubeObject, dry = '?dryRun=All') =>
  send(sender, 'POST', `${creationPath(made.apiVersion, made.kind, made.metadata.namespace)}${dry}`, made)

beforeAll(async () => {
  for (const each of both) {
    await admin.create(namespaceOf(each.installation, {}))
    await grantInstallation(admin, each.config, each.installation, each.installation)
    const made = () => create(each, namespaceOf(labOf(each), marksOf(each)), '')
    const answer = await eventually('the rights', async () => {
      const answer = await made()
      return answer.status === 201 ? answer : undefined
    })
    each.uid = answer.body.metadata.uid
  }
})

afterAll(async () => {
  for (const each of both) {
    await Promise.all([labOf(each), each.installation].map(name => admin.delete('Namespace', name)))
    await revokeInstallation(admin, each.config, each.installation, each.installation)
  }
  admin.close()
})

function expectRefused({ status, body }: KubeAnswer, words: string): void {
  expect(body.message).toContain(words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

test.each([
  ['first', one, two],
  ['second', two, one],
])('the %s installation makes a whole lab of its own, and changes nothing of the other’s', async (_, own, other) => {
  const config = { installation: own.installation, lab: { namespacePrefix: own.config.lab.namespacePrefix } }
  const plan = render({ config, identity: { username: 'ada' } })
  for (const planned of plan.objects) {
    const object = withOwnership(planned, 7, own.uid)
    await eventually(`${object.kind} ${object.metadata.name}`, async () => {
      const { status, body } = await create(own, object)
      if (status !== 201 && !/serviceaccount|service account/.test(body.message)) throw new Error(body.message)
      return status === 201
    })
    const there = { ...object, metadata: { ...object.metadata, namespace: labOf(other) } }
    expectRefused(await create(own, there), "ValidatingAdmissionPolicy 'skylab'")
    const disguised = { ...there, metadata: { ...there.metadata, labels: marksOf(other) } }
    const owned = withOwnership(disguised, 7, other.uid)
    expectRefused(await create(own, owned), `does not own the installation ${other.installation}`)
  }
  for (const marks of [marksOf(other), marksOf(own)]) {
    expectRefused(await create(own, namespaceOf(labOf(other, 'eve'), marks)), 'ValidatingAdmissionPolicy')
  }
})

test.each([
  ['first', one, two],
  ['second', two, one],
])('the %s installation deletes its own lab, and not the other’s', async (_, own, other) => {
  const dry = { dryRun: ['All'] }
  expect((await send(own, 'DELETE', `/api/v1/namespaces/${labOf(own)}`, dry)).status).toBe(200)
  const refused = await send(own, 'DELETE', `/api/v1/namespaces/${labOf(other)}`, dry)
  expectRefused(refused, `does not own the installation ${other.installation}`)
})

test('labs have the contents of their own installation, and not of the other one', async () => {
  const podOf = async (own: Installation) => {
    const config = { installation: own.installation, lab: { namespacePrefix: own.config.lab.namespacePrefix } }
    const pod = withOwnership(render({ config, identity: { username: 'ada' } }).objects.at(-1)!, 7, own.uid)
    const spec = pod.spec as { volumes: object[] }
    const volumes = [...spec.volumes, { name: 'software', hostPath: { path: '/opt/software' } }]
    return create(own, { ...pod, spec: { ...spec, volumes } })
  }
  expect((await podOf(two)).status).toBe(201)
  expectRefused(await podOf(one), "ValidatingAdmissionPolicy 'skylab-labs'")
})

test('an account without a role for any installation makes nothing, and others work on', async () => {
  const alone = installationOf('c')
  await admin.create(namespaceOf(alone.installation, {}))
  for (const role of roles) await admin.request('POST', `${rbacPath}/clusterrolebindings`, bindingOf(role, alone))
  try {
    const made = namespaceOf(labOf(alone), marksOf(alone))
    await eventually('a refusal by the policy', async () =>
      (await create(alone, made)).body.message?.includes(`does not own the installation ${alone.installation}`),
    )
    expect((await admin.request('POST', '/api/v1/namespaces?dryRun=All', namespaceOf(`x-${drawn}`, {}))).status).toBe(
      201,
    )
  } finally {
    for (const role of roles)
      await admin.request('DELETE', `${rbacPath}/clusterrolebindings/${alone.installation}-${role}`)
    await admin.delete('Namespace', alone.installation)
  }
})
