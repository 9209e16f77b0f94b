/**
 * A thief with the token of the controller's ServiceAccount: each attempt, and its refusal. Its own labs stay in the
 * thief's hand, and so do reads of pods, events, nodes and namespaces of the cluster.
 */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/base/domain.ts'
import { annotations, groupKey, labels, stamps } from '../../src/kube/labels.ts'
import { grantInstallation, ownNamespace, rbacPath, revokeInstallation } from '../kit/cluster/installation.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import { testBed } from '../kit/testbed.ts'

const installation = `thief-${randomBytes(4).toString('hex')}`
const victim = `victim-${randomBytes(4).toString('hex')}`
const lab = `${installation}-ada`
const admin = new AdminKube(testBed().kubeconfig)
const thief = new AdminKube(testBed().controllerKubeconfig)
// The installation stops idle labs: its token is worth more than that of others.
const config = { installation, lab: { namespacePrefix: installation }, idle: { enabled: true } }
const marks = { [labels.installation]: installation, [labels.op]: '7' }
let labUid = ''

const within = (namespace: string) => `/api/v1/namespaces/${namespace}`
const rbacWithin = (namespace: string) => `${rbacPath}/namespaces/${namespace}`
const dry = '?dryRun=All'

/** Metadata as the controller writes it for objects of a lab. */
const metadata = (name: string, namespace = lab, more: object = {}) => ({
  ...{ name, namespace, labels: { ...marks } },
  ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: lab, uid: labUid }],
  ...more,
})

const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }
const goodContainer = { name: 'lab', image: 'x', securityContext: confined }
const goodSpec = {
  automountServiceAccountToken: false,
  securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [goodContainer],
}
const podOf = (spec: object = {}, more: object = {}): object => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: metadata('nb-ada', lab, more) },
  spec: { ...goodSpec, ...spec },
})
const inContainer = (more: object) => ({ containers: [{ ...goodContainer, ...more }] })
const withSecurity = (more: object) => inContainer({ securityContext: { ...confined, ...more } })
const withVolume = (source: object) => ({ volumes: [{ name: 'v', ...source }] })
const namespaceOf = (name: string, more: object = {}, more2: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { ...marks, ...more }, ...more2 } },
})
const secretOf = (fields: object, more: object = {}) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', metadata: metadata('nb-ada', lab, more), ...fields },
})
const serviceOf = (spec: object) => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata: metadata('nb-ada') },
  spec: { ports: [{ port: 53 }], ...spec },
})
const claimOf = (spec: object) => ({
  ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: metadata('nb-ada-x') },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
})
const bindingOf = (namespace: string, role: string, subject: object = {}, kind = 'ClusterRole') => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: metadata('skylab-lab', namespace),
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
  subjects: [{ kind: 'ServiceAccount', name: 'skylab', namespace: ownNamespace, ...subject }],
})

const pullName = `skylab-prepull-${installation}`
const pullLabels = { 'skylab/prepull': installation, 'skylab/prepull-image': pullName }
interface PullParts {
  readonly metadata?: object
  readonly labels?: object
  readonly spec?: object
  readonly container?: object
}
const pullOf = ({ metadata: more, labels: also, spec, container }: PullParts = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: {
    ...{ name: pullName, namespace: ownNamespace, labels: { ...pullLabels, [labels.installation]: installation } },
    ...more,
  },
  spec: {
    selector: { matchLabels: pullLabels },
    template: {
      metadata: { labels: { ...pullLabels, 'app.kubernetes.io/component': 'prepull', ...also } },
      spec: {
        ...{ automountServiceAccountToken: false, nodeSelector: { nowhere: installation } },
        securityContext: goodSpec.securityContext,
        containers: [{ name: 'pull', image: 'x', securityContext: confined, ...container }],
        ...spec,
      },
    },
  },
})
const pulls = `/apis/apps/v1/namespaces/${ownNamespace}/daemonsets`

beforeAll(async () => {
  await grantInstallation(admin, config)
  const made = await thief.create(namespaceOf(lab) as KubeObject)
  labUid = made.metadata.uid!
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: victim } })
  const inVictim = { name: 'theirs', namespace: victim }
  const theirs: [string, object][] = [
    [`${within(victim)}/secrets`, { apiVersion: 'v1', kind: 'Secret', stringData: { password: 'hunter2' } }],
    [`${within(victim)}/configmaps`, { apiVersion: 'v1', kind: 'ConfigMap' }],
    [`${within(victim)}/services`, { apiVersion: 'v1', kind: 'Service', spec: { ports: [{ port: 1 }] } }],
    [`${within(victim)}/resourcequotas`, { apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard: { pods: '9' } } }],
    [
      `${within(victim)}/persistentvolumeclaims`,
      {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
        spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'x', resources: { requests: { storage: '1Gi' } } },
      },
    ],
    [
      `/apis/networking.k8s.io/v1/namespaces/${victim}/networkpolicies`,
      { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', spec: { podSelector: {} } },
    ],
  ]
  for (const [path, object] of theirs) {
    expect((await admin.request('POST', path, { ...object, metadata: inVictim })).status).toBe(201)
  }
  await eventually('the ServiceAccounts', async () =>
    (await Promise.all([lab, victim].map(name => admin.get('ServiceAccount', 'default', name)))).every(Boolean),
  )
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: inVictim,
    spec: { ...goodSpec, nodeSelector: { no: 'where' } },
  }
  expect((await admin.request('POST', `${within(victim)}/pods`, pod)).status).toBe(201)
  const foreign = pullOf({ metadata: { name: victim, labels: {} } })
  expect((await admin.request('POST', pulls, foreign)).status).toBe(201)
})

afterAll(async () => {
  await admin.request('DELETE', `${pulls}/${victim}`)
  await Promise.all([lab, victim].map(name => admin.delete('Namespace', name)))
  await revokeInstallation(admin, config)
  admin.close()
  thief.close()
})

type Refuser = 'rights' | 'skylab' | 'skylab-labs'

function expectRefused({ status, body }: KubeAnswer, by: Refuser, words = ''): void {
  const refusal: string = body.message ?? ''
  expect(refusal).toContain(by === 'rights' ? ' cannot ' : `ValidatingAdmissionPolicy '${by}' `)
  expect(refusal).toContain(words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

const post = (path: string, body: object) => thief.request('POST', `${path}${dry}`, body)
const remove = (path: string) => thief.request('DELETE', path, { dryRun: ['All'] })

test('the controller’s own requests succeed: each attempt below differs from one of them in one thing', async () => {
  const passing: [string, object][] = [
    ['/api/v1/namespaces', namespaceOf(`${installation}-new`, { 'pod-security.kubernetes.io/enforce': 'restricted' })],
    [`${within(lab)}/pods`, podOf()],
    [`${within(lab)}/secrets`, secretOf({})],
    [`${within(lab)}/services`, serviceOf({})],
    [`${rbacWithin(lab)}/rolebindings`, bindingOf(lab, 'skylab-lab')],
    [pulls, pullOf()],
  ]
  for (const [path, object] of passing) {
    const { status, body } = await post(path, object)
    expect([path, status, body.message]).toEqual([path, 201, undefined])
  }
})

describe('the thief is refused a namespace', () => {
  test.each<[string, Refuser, string, () => object]>([
    ['of any other name', 'skylab-labs', 'prefix', () => namespaceOf('kube-evil')],
    ['whose name begins like the prefix alone', 'skylab-labs', 'prefix', () => namespaceOf(`${installation}x`)],
    [
      'without confinement of its pods',
      'skylab-labs',
      'Pod Security privileged',
      () => namespaceOf(`${installation}-new`, { 'pod-security.kubernetes.io/enforce': 'privileged' }),
    ],
    [
      'of an installation that the account does not own',
      'skylab',
      'does not own',
      () => namespaceOf(`${installation}-new`, { [labels.installation]: 'another' }),
    ],
    [
      'with a label by which others let it in',
      'skylab',
      'label or an annotation',
      () => namespaceOf(`${installation}-new`, { name: 'monitoring' }),
    ],
    [
      'with an annotation that sends its pods to other nodes',
      'skylab',
      'label or an annotation',
      () =>
        namespaceOf(
          `${installation}-new`,
          {},
          { annotations: { 'scheduler.alpha.kubernetes.io/node-selector': 'role=control-plane' } },
        ),
    ],
    [
      'that can never go',
      'skylab',
      'finalizer',
      () => namespaceOf(`${installation}-new`, {}, { finalizers: ['thief.example/stay'] }),
    ],
    [
      'that goes with something else',
      'skylab',
      'owner',
      () =>
        namespaceOf(
          `${installation}-new`,
          {},
          { ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: lab, uid: labUid }] },
        ),
    ],
    [
      'whose name is drawn',
      'skylab-labs',
      'prefix',
      () => ({ ...namespaceOf('x'), metadata: { generateName: 'kube-', labels: marks } }),
    ],
  ])('%s', async (_, by, words, made) => {
    expectRefused(await post('/api/v1/namespaces', made()), by, words)
  })
})

describe('the thief is refused a pod', () => {
  const token = { projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }
  const nfs = { nfs: { server: '192.0.2.1', path: '/' } }
  const provision = { ...goodContainer, name: 'init', securityContext: { ...confined, privileged: true } }
  test.each<[string, string, object]>([
    ['with the network of its node', 'share network', { hostNetwork: true }],
    ['with the processes of its node', 'share network', { hostPID: true }],
    ['with the memory of its node', 'share network', { hostIPC: true }],
    ['with a port of its node', 'share network', inContainer({ ports: [{ containerPort: 1, hostPort: 1 }] })],
    ['on a node of its choice', 'choose its node', { nodeName: 'kwok-node-0' }],
    ['that pushes others aside', 'push others', { priorityClassName: 'system-node-critical' }],
    ['with the token of its namespace', 'ServiceAccount', { automountServiceAccountToken: true }],
    ['that leaves the token to a default', 'ServiceAccount', { automountServiceAccountToken: null }],
    ['with a token as a volume', 'volume of a kind', withVolume(token)],
    ['that is privileged', 'privileged', withSecurity({ privileged: true, allowPrivilegeEscalation: true })],
    [
      'whose init container is privileged',
      'privileged',
      { initContainers: [{ ...provision, securityContext: { privileged: true } }] },
    ],
    ['that can gain rights', 'gain rights', withSecurity({ allowPrivilegeEscalation: true })],
    [
      'that says nothing of gaining rights',
      'gain rights',
      inContainer({ securityContext: { capabilities: { drop: ['ALL'] } } }),
    ],
    ['with a capability', 'capabilities', withSecurity({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } })],
    ['with the usual capabilities', 'capabilities', withSecurity({ capabilities: {} })],
    ['as root', 'as root', { securityContext: { ...goodSpec.securityContext, runAsUser: 0 } }],
    ['whose container is root', 'as root', withSecurity({ runAsUser: 0 })],
    ['whose container may be root', 'as root', withSecurity({ runAsNonRoot: false })],
    ['whose image may be root', 'as root', { securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }],
    ['with all calls of the kernel', 'confines', withSecurity({ seccompProfile: { type: 'Unconfined' } })],
    ['without AppArmor', 'confines', withSecurity({ appArmorProfile: { type: 'Unconfined' } })],
    ['of another SELinux type', 'confines', withSecurity({ seLinuxOptions: { type: 'spc_t' } })],
    [
      'of the node, on Windows',
      'confines',
      withSecurity({ windowsOptions: { runAsUserName: 'ContainerAdministrator' } }),
    ],
    [
      'that sets what its kernel does',
      'confines',
      { securityContext: { ...goodSpec.securityContext, sysctls: [{ name: 'kernel.msgmax', value: '1' }] } },
    ],
    [
      'whose probe asks the node itself',
      'kubelet would ask',
      inContainer({ livenessProbe: { httpGet: { host: '127.0.0.1', port: 10250 } } }),
    ],
    [
      'whose hook asks the cloud',
      'kubelet would ask',
      inContainer({ lifecycle: { postStart: { httpGet: { host: '169.254.169.254', port: 80 } } } }),
    ],
    ['with the root of its node', 'path of its node', withVolume({ hostPath: { path: '/' } })],
    [
      'with a socket of its node',
      'path of its node',
      withVolume({ hostPath: { path: '/run/containerd.sock', type: 'Socket' } }),
    ],
    ['with homes of others', 'NFS', withVolume(nfs)],
    ['with a driver of its choice', 'volume of a kind', withVolume({ csi: { driver: 'secrets-store.csi.k8s.io' } })],
    [
      'with an iSCSI volume',
      'volume of a kind',
      withVolume({ iscsi: { targetPortal: 'x', iqn: 'iqn.2001-04.com.example:x', lun: 0 } }),
    ],
    ['that stands every taint', 'taint', { tolerations: [{ operator: 'Exists' }] }],
    [
      'that stands the control plane’s taint',
      'taint',
      { tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] },
    ],
  ])('%s', async (_, words, spec) => {
    expectRefused(await post(`${within(lab)}/pods`, podOf(spec)), 'skylab-labs', words)
  })

  test.each<[string, Refuser, string, () => object, string?]>([
    ['that passes for the Hub', 'skylab-labs', 'label', () => podOf({}, { labels: { ...marks, app: 'jupyterhub' } })],
    [
      'of a group whose apps labs do not reach',
      'skylab-labs',
      'label',
      () => podOf({}, { labels: { ...marks, [groupKey('observers')]: '' } }),
    ],
    [
      'that passes for another component',
      'skylab-labs',
      'label',
      () => podOf({}, { labels: { ...marks, 'app.kubernetes.io/component': 'controller' } }),
    ],
    [
      'with credentials of the cloud by annotation',
      'skylab-labs',
      'annotation',
      () => podOf({}, { annotations: { 'iam.amazonaws.com/role': 'admin' } }),
    ],
    ['in the namespace of others', 'skylab', 'no lab', () => podOf({}, { namespace: victim }), victim],
    ['in kube-system', 'skylab', 'no lab', () => podOf({}, { namespace: 'kube-system' }), 'kube-system'],
    ['beside the controller', 'skylab', 'no lab', () => podOf({}, { namespace: ownNamespace }), ownNamespace],
    ['of another operation', 'skylab', 'its op is 8', () => podOf({}, { labels: { ...marks, [labels.op]: '8' } })],
    ['that stays', 'skylab', 'finalizer', () => podOf({}, { finalizers: ['thief.example/stay'] })],
    [
      'that belongs to others as well',
      'skylab',
      'not to it alone',
      () => {
        const [own] = metadata('x').ownerReferences
        return podOf({}, { ownerReferences: [own, { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }] })
      },
    ],
  ])('%s', async (_, by, words, made, namespace = lab) => {
    expectRefused(await post(`${within(namespace)}/pods`, made()), by, words)
  })

  test('by adding a container to one, or by a binding to a node', async () => {
    expectRefused(await thief.request('PATCH', `${within(victim)}/pods/theirs/ephemeralcontainers`, {}), 'rights')
    expectRefused(await thief.request('POST', `${within(victim)}/pods/theirs/binding`, {}), 'rights')
    expectRefused(await thief.request('POST', `${within(victim)}/pods/theirs/exec?command=id`), 'rights')
    expectRefused(await thief.request('PATCH', `${within(victim)}/pods/theirs/status`, {}), 'rights')
    expectRefused(await thief.request('PUT', `${within(victim)}/pods/theirs`, {}), 'rights')
  })
})

describe('the thief is refused to change a pod', () => {
  const time = '2026-11-24T19:06:00Z'
  const stamp = { metadata: { annotations: { [stamps.stopped]: time } } }
  const change = (path: string, patch: object) => thief.request('PATCH', `${path}${dry}`, patch)
  const own = `${within(lab)}/pods/nb-ada`

  beforeAll(async () => {
    const pod = podOf({ nodeSelector: { no: 'where' } })
    expect((await thief.request('POST', `${within(lab)}/pods`, pod)).status).toBe(201)
  })

  test('of a lab, but for its stamps', async () => {
    // API servers apply a new binding after a moment.
    await eventually('the right', async () => (await change(own, stamp)).status === 200)
    for (const [patch, words] of [
      [{ spec: { activeDeadlineSeconds: 1 } }, 'what the pod runs'],
      [{ metadata: { annotations: { 'iam.amazonaws.com/role': 'admin' } } }, 'no stamp'],
      [{ metadata: { annotations: { [annotations.user]: 'eve' } } }, 'no stamp'],
      [{ metadata: { annotations: { [stamps.keepUntil]: '<script>' } } }, 'no time'],
      [{ metadata: { finalizers: ['thief.example/stay'] } }, 'finalizers'],
    ] as const) {
      const answer = await change(own, patch)
      expect([answer.status, answer.body.message]).toEqual([403, expect.stringMatching(/ValidatingAdmissionPolicy/)])
      if (answer.body.message.includes("'skylab'")) expect(answer.body.message).toContain(words)
    }
  })

  test('of others, even by a stamp', async () => {
    expectRefused(await change(`${within(victim)}/pods/theirs`, stamp), 'skylab', 'no op, or no installation')
  })

  test('of an installation that it does not own, even by a stamp', async () => {
    const name = `${victim}-lab`
    const theirs = { [labels.installation]: victim, [labels.op]: '7' }
    const { metadata: home } = await admin.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: theirs },
    })
    await eventually('the ServiceAccount', () => admin.get('ServiceAccount', 'default', name))
    const owner = { apiVersion: 'v1', kind: 'Namespace', name, uid: home.uid! }
    await admin.create({
      ...{ apiVersion: 'v1', kind: 'Pod', spec: { ...goodSpec, nodeSelector: { no: 'where' } } },
      metadata: { name: 'nb-bob', namespace: name, labels: theirs, ownerReferences: [owner] },
    })
    expectRefused(await change(`${within(name)}/pods/nb-bob`, stamp), 'skylab', 'does not own')
    await admin.delete('Namespace', name)
  })
})

describe('the thief is refused in a lab’s namespace', () => {
  test.each<[string, Refuser, string, string, () => object]>([
    [
      'a Secret into which the cluster writes a token of an account',
      'skylab',
      'type',
      'secrets',
      () =>
        secretOf(
          { type: 'kubernetes.io/service-account-token' },
          { annotations: { 'kubernetes.io/service-account.name': 'default' } },
        ),
    ],
    [
      'a Service under addresses of others',
      'skylab',
      'others',
      'services',
      () => serviceOf({ externalIPs: ['8.8.8.8'] }),
    ],
    ['a Service for the outside', 'skylab', 'others', 'services', () => serviceOf({ type: 'LoadBalancer' })],
    ['a Service on every node', 'skylab', 'others', 'services', () => serviceOf({ type: 'NodePort' })],
    [
      'a Service that is another name',
      'skylab',
      'others',
      'services',
      () => serviceOf({ type: 'ExternalName', externalName: 'metadata.google.internal' }),
    ],
    ['a claim', 'skylab-labs', 'claims', 'persistentvolumeclaims', () => claimOf({})],
    [
      'a claim of a volume that others had',
      'skylab-labs',
      'claims',
      'persistentvolumeclaims',
      () => claimOf({ volumeName: 'theirs', storageClassName: '' }),
    ],
  ])('%s', async (_, by, words, resource, made) => {
    expectRefused(await post(`${within(lab)}/${resource}`, made()), by, words)
  })
})

describe('the thief is refused a RoleBinding', () => {
  test.each<[string, Refuser, string, () => object, string]>([
    ['to read in kube-system', 'skylab', 'no lab', () => bindingOf('kube-system', 'skylab-lab'), 'kube-system'],
    ['to read in its own namespace', 'skylab', 'no lab', () => bindingOf(ownNamespace, 'skylab-lab'), ownNamespace],
    ['to read in the namespace of others', 'skylab', 'no lab', () => bindingOf(victim, 'skylab-lab'), victim],
    [
      'for somebody else',
      'skylab',
      'somebody else',
      () => bindingOf(lab, 'skylab-lab', { name: 'default', namespace: victim }),
      lab,
    ],
    [
      'for everybody',
      'skylab',
      'somebody else',
      () =>
        bindingOf(lab, 'skylab-lab', {
          ...{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io' },
          ...{ name: 'system:authenticated', namespace: undefined },
        }),
      lab,
    ],
    // RBAC itself refuses to grant rights that the account does not have.
    ['to another role', 'rights', '', () => bindingOf(lab, 'cluster-admin'), lab],
    ['to the role of its own', 'rights', '', () => bindingOf(lab, 'skylab-marks'), lab],
  ])('%s', async (_, by, words, made, namespace) => {
    const answer = await post(`${rbacWithin(namespace)}/rolebindings`, made())
    if (by === 'rights') expect(answer.body.message).toMatch(/attempting to grant|ValidatingAdmissionPolicy 'skylab'/)
    if (by === 'rights') expect(answer.status).toBe(403)
    else expectRefused(answer, by, words)
  })

  test('for the whole cluster, a new role, or a changed role of its installation', async () => {
    const bindings = `${rbacPath}/clusterrolebindings`
    expectRefused(await post(bindings, bindingOf(lab, 'skylab-lab')), 'rights')
    expectRefused(await post(`${rbacWithin(lab)}/roles`, {}), 'rights')
    const own = `${rbacPath}/clusterroles/skylab-installation-${installation}`
    expectRefused(await thief.request('PATCH', `${own}${dry}`, { rules: [] }), 'rights')
    expectRefused(await remove(own), 'rights')
    expectRefused(await remove(`${rbacWithin(lab)}/rolebindings/skylab-lab`), 'rights')
  })
})

describe('the thief is refused to delete', () => {
  test.each([
    ['a namespace of others', () => `/api/v1/namespaces/${victim}`],
    ['a namespace of the cluster', () => '/api/v1/namespaces/kube-node-lease'],
    ['its own namespace', () => `/api/v1/namespaces/${ownNamespace}`],
    ['a pod of others', () => `${within(victim)}/pods/theirs`],
    ['a DaemonSet beside the controller', () => `${pulls}/${victim}`],
  ])('%s', async (_, path) => {
    expectRefused(await remove(path()), 'skylab')
  })

  test.each([
    ['a Secret of others', () => `${within(victim)}/secrets/theirs`],
    ['a ConfigMap of others', () => `${within(victim)}/configmaps/theirs`],
    ['a ConfigMap of kube-system', () => `${within('kube-system')}/configmaps/extension-apiserver-authentication`],
    ['a Service of others', () => `${within(victim)}/services/theirs`],
    ['the Service of the API server', () => `${within('default')}/services/kubernetes`],
    ['a claim of others', () => `${within(victim)}/persistentvolumeclaims/theirs`],
    ['a quota of others', () => `${within(victim)}/resourcequotas/theirs`],
    ['a NetworkPolicy of others', () => `/apis/networking.k8s.io/v1/namespaces/${victim}/networkpolicies/theirs`],
    ['a Secret of a lab, before it binds itself there', () => `${within(lab)}/secrets/nb-ada`],
  ])('%s', async (_, path) => {
    expectRefused(await remove(path()), 'rights')
  })

  test('many at once', async () => {
    for (const path of [`${within(victim)}/secrets`, `${within(lab)}/secrets`, '/api/v1/namespaces', pulls])
      expectRefused(await remove(path), 'rights')
  })

  test('what belongs to an installation that it does not own', async () => {
    const name = `${victim}-other`
    const other = { [labels.installation]: victim, [labels.op]: '7' }
    await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: other } })
    expectRefused(await remove(`/api/v1/namespaces/${name}`), 'skylab', 'does not own')
    await admin.delete('Namespace', name)
  })
})

describe('the thief is refused to read', () => {
  test.each([
    ['a Secret of others', () => `${within(victim)}/secrets/theirs`],
    ['a Secret of a lab', () => `${within(lab)}/secrets/nb-ada`],
    ['the sealing key', () => `${within(ownNamespace)}/secrets/skylab-sealing`],
    ['a ConfigMap of kube-system', () => `${within('kube-system')}/configmaps/extension-apiserver-authentication`],
    ['all Secrets', () => '/api/v1/secrets'],
    ['what runs on a node', () => '/api/v1/nodes/kwok-node-0/proxy/pods'],
    ['the log of a pod', () => `${within(victim)}/pods/theirs/log`],
  ])('%s', async (_, path) => {
    expectRefused(await thief.request('GET', path()), 'rights')
  })

  test('with a token of another account', async () => {
    expectRefused(await thief.request('POST', `${within(victim)}/serviceaccounts/default/token`, {}), 'rights')
    expectRefused(
      await thief.request('GET', '/api/v1/namespaces', undefined, { 'Impersonate-User': 'admin' }),
      'rights',
    )
  })
})

describe('the thief is refused a DaemonSet', () => {
  const secret = { secret: { secretName: 'skylab-sealing' } }
  test.each<[string, PullParts]>([
    ['that mounts the sealing key', { spec: { volumes: [{ name: 'v', ...secret }] } }],
    ['with the root of its node', { spec: { volumes: [{ name: 'v', hostPath: { path: '/' } }] } }],
    [
      'that has the sealing key in its environment',
      { container: { envFrom: [{ secretRef: { name: 'skylab-sealing' } }] } },
    ],
    ['that runs as the controller', { spec: { serviceAccountName: 'skylab' } }],
    ['that has a token', { spec: { automountServiceAccountToken: true } }],
    ['with the network of nodes', { spec: { hostNetwork: true } }],
    ['that prepares something', { spec: { initContainers: [{ name: 'x', image: 'x' }] } }],
    ['that is privileged', { container: { securityContext: { privileged: true } } }],
    [
      'with a capability',
      { container: { securityContext: { ...confined, capabilities: { drop: ['ALL'], add: ['NET_RAW'] } } } },
    ],
    ['as root', { spec: { securityContext: { ...goodSpec.securityContext, runAsNonRoot: false } } }],
    ['whose pods pass for replicas', { labels: { 'app.kubernetes.io/name': 'skylab' } }],
    ['whose pods pass for controllers', { labels: { 'app.kubernetes.io/component': 'controller' } }],
    ['of another name', { metadata: { name: 'skylab-redis' } }],
    ['of no installation', { metadata: { labels: pullLabels } }],
    ['that stays', { metadata: { finalizers: ['thief.example/stay'] } }],
  ])('%s', async (_, parts) => {
    expectRefused(await post(pulls, pullOf(parts)), 'skylab')
  })

  test('in another namespace', async () => {
    const elsewhere = `/apis/apps/v1/namespaces/${lab}/daemonsets`
    expectRefused(await post(elsewhere, pullOf({ metadata: { namespace: lab } })), 'rights')
  })

  test('by changing an existing one, its own or another', async () => {
    expect((await thief.request('POST', pulls, pullOf())).status).toBe(201)
    const patch = (name: string, template: object) =>
      thief.request('PATCH', `${pulls}/${name}${dry}`, { spec: { template } })
    const mounting = { spec: { volumes: [{ name: 'v', ...secret }] } }
    expectRefused(await patch(pullName, mounting), 'skylab', 'more than an image')
    expectRefused(await patch(victim, { spec: { affinity: {} } }), 'skylab')
    expect((await patch(pullName, { spec: { affinity: {} } })).status).toBe(200)
    expect((await thief.request('DELETE', `${pulls}/${pullName}`)).status).toBe(200)
  })
})

test('the thief is refused to write in the namespaces of others, and beside the controller', async () => {
  for (const namespace of [victim, 'kube-system', ownNamespace, 'default']) {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: metadata('x', namespace) }
    expectRefused(await post(`${within(namespace)}/configmaps`, object), 'skylab', 'no lab')
  }
})
