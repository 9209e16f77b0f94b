/** k8s/base/policy.yaml makes the API server refuse requests of the controller, and of nobody else. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/base/domain.ts'
import { creationPath, objectPath } from '../../src/kube/kinds.ts'
import { annotations, labels, stampKeys, stamps } from '../../src/kube/labels.ts'
import { withOwnership } from '../../src/labs/render.ts'
import { installationLabel } from '../../src/labs/rights.ts'
import { grantInstallation, rbacPath, revokeInstallation } from '../kit/cluster/installation.ts'
import { AdminKube, type KubeAnswer } from '../kit/cluster/kube.ts'
import { eventually } from '../kit/cluster/world.ts'
import { configure } from '../kit/fleet/configure.ts'
import { startFleet } from '../kit/fleet/fleet.ts'
import { testBed } from '../kit/testbed.ts'

const account = 'system:serviceaccount:skylab:skylab'
const unique = randomBytes(4).toString('hex')
const [own, other] = [`policy-${unique}`, `policy-${unique}-other`]
/** A ClusterRole that belongs to no installation. */
const strangeRole = `policy-${unique}-strange`
const op = 7

const admin = new AdminKube(testBed().kubeconfig)
const controller = new AdminKube(testBed().controllerKubeconfig)
/** UIDs of existing namespaces, by name. */
const uids: Record<string, string> = {}

type Marks = Readonly<Record<string, string>>

const marksOf = (installation: string, itsOp: number | string): Marks => ({
  [labels.installation]: installation,
  [labels.op]: String(itsOp),
})

const namespaceObject = (name: string, marks: Marks): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: marks } },
})

/** Namespaces of two installations that share the ServiceAccount, and of none. */
const standing = [
  namespaceObject(`${own}-ada`, marksOf(own, op)),
  namespaceObject(`${own}-grace`, marksOf(own, op + 1)),
  namespaceObject(`${other}-ada`, marksOf(other, op)),
  namespaceObject(`${own}-plain`, {}),
]

const configs = [own, other].map(installation => ({ installation, lab: { namespacePrefix: installation } }))

beforeAll(async () => {
  for (const config of configs) await grantInstallation(admin, config)
  for (const object of standing) {
    const kube = object.metadata.labels?.[labels.op] ? controller : admin
    uids[object.metadata.name] = (await kube.create(object)).metadata.uid!
  }
})

afterAll(async () => {
  await Promise.all(standing.map(({ metadata }) => admin.delete('Namespace', metadata.name)))
  for (const config of configs) await revokeInstallation(admin, config)
  admin.close()
  controller.close()
})

/** A ConfigMap as a creation makes it, with the given changes. */
function object(namespace: string, more: { op?: number; installation?: string; owner?: string } = {}): KubeObject {
  const installation = more.installation ?? (namespace.startsWith(other) ? other : own)
  const metadata = { name: 'nb-ada', namespace, labels: { [labels.installation]: installation } }
  const owner = `${more.owner ?? namespace}`
  return withOwnership({ apiVersion: 'v1', kind: 'ConfigMap', metadata }, more.op ?? op, uids[owner] ?? owner)
}

function create(kube: AdminKube, made: KubeObject, headers?: Readonly<Record<string, string>>): Promise<KubeAnswer> {
  const path = creationPath(made.apiVersion, made.kind, made.metadata.namespace)
  return kube.request('POST', `${path}?dryRun=All`, made, headers)
}

const bare = (namespace: string): KubeObject => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bare', namespace } },
})

const unowned = () => {
  const { metadata, ...rest } = object(`${own}-ada`)
  const { ownerReferences, ...others } = metadata
  return { ...rest, metadata: others }
}

test.each<[string, () => KubeObject]>([
  ['an object of its op, in a namespace of its installation, owned by it', () => object(`${own}-ada`)],
  ['the same of another installation with the same ServiceAccount', () => object(`${other}-ada`)],
  ['a namespace with op and installation', () => namespaceObject(`${own}-new`, marksOf(own, op))],
])('the policy lets the controller make %s', async (_, made) => {
  expect((await create(controller, made())).status).toBe(201)
})

test.each<[string, string, () => KubeObject]>([
  ['an older op', 'its op is 6, its namespace has 7', () => object(`${own}-ada`, { op: 6 })],
  ['a newer op', 'its op is 8, its namespace has 7', () => object(`${own}-ada`, { op: 8 })],
  ['another installation’s object', `of the installation ${own}`, () => object(`${own}-ada`, { installation: other })],
  ['an object in another’s namespace', `installation ${other}`, () => object(`${other}-ada`, { installation: own })],
  ['an object where no lab is', 'is no lab', () => object(`${own}-plain`)],
  ['an object in a namespace of the cluster', 'is no lab', () => object('default')],
  ['an object without labels', 'no op, or no installation', () => bare(`${own}-ada`)],
  ['an object without labels where no lab is', 'no op, or no installation', () => bare('default')],
  ['an object of a namespace that is gone', 'this very namespace', () => object(`${own}-ada`, { owner: 'gone' })],
  ['an object of another namespace', 'very namespace', () => object(`${own}-ada`, { owner: `${own}-grace` })],
  ['an object that belongs to nothing', 'this very namespace', unowned],
  ['a namespace without labels', 'no op, or no installation', () => namespaceObject(`${own}-new`, {})],
  [
    'a namespace without op',
    'no op, or no installation',
    () => namespaceObject(`${own}-new`, { [labels.installation]: own }),
  ],
  [
    'a namespace without installation',
    'no op, or no installation',
    () => namespaceObject(`${own}-new`, { [labels.op]: '7' }),
  ],
  [
    'a namespace whose op is no number',
    'no op, or no installation',
    () => namespaceObject(`${own}-new`, marksOf(own, 'seven')),
  ],
])('the policy refuses the controller %s', async (_, words, made) => {
  expectRefused(await create(controller, made()), words)
})

function expectRefused({ status, body }: KubeAnswer, words: string): void {
  expect(body.message).toContain("ValidatingAdmissionPolicy 'skylab'")
  expect(body.message).toContain(words)
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
}

/** Writes a ClusterRole beside the installation's, with the label by which `skylab-labs` finds roles. */
async function applyRole(rules: object): Promise<void> {
  const metadata = { name: strangeRole, labels: { [installationLabel]: strangeRole } }
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, ...rules }
  const made = await admin.request('POST', `${rbacPath}/clusterroles`, role)
  const answer =
    made.status === 409 ? await admin.request('PUT', `${rbacPath}/clusterroles/${strangeRole}`, role) : made
  expect(answer.body.message ?? '').toBe('')
}

const newNamespace = () => create(controller, namespaceObject(`${own}-new`, marksOf(own, op)))

test.each<[string, object]>([
  ['no rules', {}],
  ['rules that are null', { rules: null }],
  ['an empty list of rules', { rules: [] }],
  ['a rule without resources', { rules: [{ nonResourceURLs: ['/healthz'], verbs: ['get'] }] }],
  ['a rule without names', { rules: [{ apiGroups: ['skylab.dev'], resources: ['installations'], verbs: ['own'] }] }],
])('the policy lets labs be made when another labelled ClusterRole has %s', async (_, rules) => {
  onTestFinished(async () => void (await admin.request('DELETE', `${rbacPath}/clusterroles/${strangeRole}`)))
  // The policy reports a role that grants this installation no prefix: then the API server has read it.
  const owning = { apiGroups: ['skylab.dev'], resources: ['installations'], resourceNames: [own], verbs: ['own'] }
  await applyRole({ rules: [owning] })
  await eventually('the role is read', async () => (await newNamespace()).status === 403)
  await applyRole(rules)
  await eventually('the role refuses nothing', async () => (await newNamespace()).status === 201)
})

/** All rights, under the controller's name: only the policy can refuse an update. */
const mighty = { 'Impersonate-User': account, 'Impersonate-Group': 'system:masters' }

async function change(name: string, marks: Readonly<Record<string, string | null>>, subresource = '') {
  const path = objectPath({ apiVersion: 'v1', kind: 'Namespace', name })
  const patch = { metadata: { labels: marks, annotations: { touched: 'yes' } } }
  return admin.request('PATCH', `${path}${subresource}?dryRun=All`, patch, mighty)
}

test.each<[string, string, string, Record<string, string | null>, string?]>([
  ['another op', 'ada', 'its op is 8, and was 7', { [labels.op]: '8' }],
  ['another op by its status', 'ada', 'its op is 8, and was 7', { [labels.op]: '8' }, '/status'],
  ['no op', 'ada', 'no op, or no installation', { [labels.op]: null }],
  ['labels for one that is no lab', 'plain', 'the namespace is no lab', marksOf(own, op)],
  ['anything of one that is no lab', 'plain', 'no op, or no installation', {}],
])(
  'the policy refuses the controller, whatever its rights, to change a namespace: %s',
  async (_, name, words, marks, sub) => {
    expectRefused(await change(`${own}-${name}`, marks, sub), words)
  },
)

test('the policy refuses the controller, whatever its rights, to give a namespace to another installation', async () => {
  const { status, body } = await change(`${own}-ada`, { [labels.installation]: other })
  // Two policies refuse it, and the API server names one of them.
  const words = `is of the installation ${own}|does not begin with the prefix`
  expect(body.message).toMatch(new RegExp(`ValidatingAdmissionPolicy 'skylab(-labs)?' .*(${words})`))
  expect([status, body.reason]).toEqual([403, 'Forbidden'])
})

test('the policy lets a namespace be changed that keeps its op and its installation', async () => {
  expect((await change(`${own}-ada`, {})).status).toBe(200)
})

test('the policy refuses to give an object another op, or to take it from its owner', async () => {
  const made = await controller.create(object(`${own}-ada`))
  const path = objectPath({ apiVersion: 'v1', kind: 'ConfigMap', namespace: `${own}-ada`, name: made.metadata.name })
  const patch = (metadata: object) => admin.request('PATCH', `${path}?dryRun=All`, { metadata }, mighty)
  expectRefused(await patch({ labels: { [labels.op]: '8' } }), 'its op is 8, its namespace has 7')
  expectRefused(await patch({ ownerReferences: null }), 'this very namespace')
  expect((await patch({ annotations: { touched: 'yes' } })).status).toBe(200)
})

/** The pod of a lab, with a label and an annotation that another program added later. */
const labPod = { apiVersion: 'v1', kind: 'Pod', namespace: `${own}-ada`, name: 'nb-ada' }
const confined = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }

async function makeLabPod(): Promise<void> {
  await eventually('the ServiceAccount', () => admin.get('ServiceAccount', 'default', labPod.namespace))
  const { metadata } = object(labPod.namespace)
  await controller.create({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, annotations: { [annotations.size]: 'small' } } },
    spec: {
      ...{ automountServiceAccountToken: false, nodeSelector: { nowhere: own } },
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [{ name: 'lab', image: 'x', securityContext: confined }],
    },
  })
  const added = { labels: { mesh: 'on' }, annotations: { 'cni.example/ip': '10.0.0.1' } }
  expect((await admin.request('PATCH', objectPath(labPod), { metadata: added })).status).toBe(200)
}

describe('the policy, for the pod of a lab,', () => {
  const time = '2026-11-24T19:06:00Z'
  const patch = (patch: object) => admin.request('PATCH', `${objectPath(labPod)}?dryRun=All`, patch, mighty)
  const annotated = (key: string, value: string | null) => ({ metadata: { annotations: { [key]: value } } })

  let container: object

  beforeAll(async () => {
    await makeLabPod()
    container = (await admin.get('Pod', labPod.name, labPod.namespace)).spec.containers[0]
  })

  test('knows the same stamps as the program', () => {
    const text = readFileSync(new URL('../../k8s/base/policy.yaml', import.meta.url), 'utf8').replaceAll(/\s+/g, ' ')
    expect(text.split(`[${stampKeys.map(key => `'${key}'`).join(', ')}]`)).toHaveLength(3)
  })

  test.each(stampKeys)('lets the controller write, change and remove the stamp %s', async key => {
    expect((await patch(annotated(key, time))).body.metadata.annotations[key]).toBe(time)
    expect((await admin.request('PATCH', objectPath(labPod), annotated(key, 'by hand'))).status).toBe(200)
    expect((await patch({})).status).toBe(200)
    expect((await patch(annotated(key, time))).status).toBe(200)
    expect((await patch(annotated(key, null))).body.metadata.annotations).not.toHaveProperty(key)
    expect((await admin.request('PATCH', objectPath(labPod), annotated(key, null))).status).toBe(200)
  })

  const changes: [string, string, () => object][] = [
    ['another image', 'what the pod runs', () => ({ spec: { containers: [{ ...container, image: 'y' }] } })],
    ['an end', 'what the pod runs', () => ({ spec: { activeDeadlineSeconds: 1 } })],
    [
      'another toleration',
      'what the pod runs',
      () => ({ spec: { tolerations: [{ key: 'node.kubernetes.io/x', operator: 'Exists' }] } }),
    ],
    ['another label', 'labels, owners', () => ({ metadata: { labels: { app: 'jupyterhub' } } })],
    ['a label of another program less', 'labels, owners', () => ({ metadata: { labels: { mesh: null } } })],
    ['a finalizer', 'labels, owners', () => ({ metadata: { finalizers: ['kubernetes.io/pvc-protection'] } })],
    ['another op', 'its op is 8', () => ({ metadata: { labels: { [labels.op]: '8' } } })],
    ['no owner', 'this very namespace', () => ({ metadata: { ownerReferences: null } })],
    ['another annotation', 'no stamp', () => annotated('iam.example/role', 'admin')],
    ['another size', 'no stamp', () => annotated(annotations.size, 'large')],
    ['another user', 'no stamp', () => annotated(annotations.user, 'eve')],
    ['an annotation of another program changed', 'no stamp', () => annotated('cni.example/ip', '10.0.0.2')],
    ['an annotation of another program less', 'no stamp', () => annotated('cni.example/ip', null)],
    ['words for a stamp', 'no time', () => annotated(stamps.stopped, 'because')],
    ['a long stamp', 'no time', () => annotated(stamps.checked, '1'.repeat(41))],
  ]
  test.each(changes)('refuses the controller, whatever its rights, %s', async (_, words, change) => {
    const { status, body } = await patch(change())
    expect([status, body.reason]).toEqual([403, 'Forbidden'])
    // A change may violate both policies: the API server names one of them.
    expect(body.message).toMatch(/ValidatingAdmissionPolicy 'skylab(-labs)?'/)
    if (body.message.includes("'skylab'")) expect(body.message).toContain(words)
  })

  test('refuses the controller stamps of pods that are no lab’s', async () => {
    const pod = { ...labPod, namespace: `${own}-plain`, name: 'theirs' }
    await eventually('the ServiceAccount', () => admin.get('ServiceAccount', 'default', pod.namespace))
    const spec = { containers: [{ name: 'x', image: 'x' }], nodeSelector: { nowhere: own } }
    await admin.create({ apiVersion: 'v1', kind: 'Pod', metadata: { name: pod.name, namespace: pod.namespace }, spec })
    const stamp = annotated(stamps.stopped, time)
    const answer = await admin.request('PATCH', `${objectPath(pod)}?dryRun=All`, stamp, mighty)
    expectRefused(answer, 'no op, or no installation')
  })
})

test.each([
  ['the administrator', undefined],
  ['a kubelet', 'system:node:kwok-node-0'],
  ['the garbage collector', 'system:serviceaccount:kube-system:generic-garbage-collector'],
  ['another ServiceAccount', 'system:serviceaccount:skylab:other'],
])('the policy refuses nothing to %s', async (_, sender) => {
  const headers = sender ? { 'Impersonate-User': sender, 'Impersonate-Group': 'system:masters' } : {}
  for (const made of [bare(`${own}-ada`), bare('default'), namespaceObject(`${own}-new`, {})]) {
    expect((await create(admin, made, headers)).status).toBe(201)
  }
})

test.each([
  ['an op that no number holds exactly', '9007199254740992'],
  ['an op of 17 digits', '10000000000000000'],
])('the policy refuses the controller %s', async (_, itsOp) => {
  const made = namespaceObject(`${own}-new`, marksOf(own, itsOp))
  expectRefused(await create(controller, made), 'no op, or no installation')
})

test('the policy lets the controller use the largest op that a number holds exactly', async () => {
  const made = namespaceObject(`${own}-new`, marksOf(own, Number.MAX_SAFE_INTEGER))
  expect((await create(controller, made)).status).toBe(201)
})

interface Matched {
  readonly apiGroups: string[]
  readonly resources: string[]
}

interface Manifest {
  readonly kind: string
  readonly rules?: readonly (Matched & { verbs: string[] })[]
  readonly metadata: { readonly name: string }
  readonly spec?: { matchConstraints?: { resourceRules: readonly (Matched & { operations: string[] })[] } }
}

const manifests = (name: string): Manifest[] =>
  parseAllDocuments(readFileSync(new URL(`../../k8s/base/${name}.yaml`, import.meta.url), 'utf8')).map(each =>
    each.toJS(),
  )

const groups = (rule: Matched) =>
  rule.apiGroups.flatMap(group => rule.resources.map(resource => `${group}/${resource}`))
const operations: Readonly<Record<string, string>> = {
  ...{ create: 'CREATE', update: 'UPDATE', patch: 'UPDATE', delete: 'DELETE', deletecollection: 'DELETE' },
  // No rule of the policy mentions this, so a right to everything is refused here.
  '*': 'ANYTHING',
}
const looksAt = () =>
  manifests('policy')[0]!.spec!.matchConstraints!.resourceRules.flatMap(rule =>
    groups(rule).flatMap(group => rule.operations.map(operation => `${operation} ${group}`)),
  )

test('the policy covers everything that the controller has the right to make, change and delete', () => {
  // The rights of `skylab-lab` apply where the policy lets the controller bind itself.
  const roles = manifests('rbac').filter(({ metadata }) => metadata.name !== 'skylab-lab')
  const mayWrite = roles
    .flatMap(({ rules = [] }) => rules)
    .flatMap(rule => groups(rule).flatMap(group => rule.verbs.map(verb => [operations[verb], group] as const)))
    .filter(([operation, group]) => operation !== undefined && !group.startsWith('skylab.dev/'))
    .map(([operation, group]) => `${operation} ${group}`)
  expect(mayWrite.length).toBeGreaterThan(10)
  expect(looksAt()).toEqual(expect.arrayContaining(mayWrite))
})

test('the policy covers no deletion that the controller cannot request, since it would stop the garbage collector', () => {
  const deletions = looksAt().filter(each => each.startsWith('DELETE '))
  expect(deletions.sort()).toEqual([
    ...['DELETE /namespaces', 'DELETE /namespaces/*', 'DELETE /pods', 'DELETE apps/daemonsets'],
  ])
})

const metric = async (url: string) =>
  /^skylab_admission_policy_active (\d)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]

test('a replica reports that the policy is at work', async context => {
  const fleet = await startFleet(context, { replicas: 1 })
  await eventually('the metric', async () => (await metric(fleet.monitoringUrl(0))) === '1')
  expect(await fleet.log(0)).toContain('"msg":"the admission policy is at work"')
  expect(await fleet.log(0)).not.toContain('is not at work')
})

test('a replica that the policy does not cover says so, works on, and has changed nothing by asking', async context => {
  const { kubeconfig } = testBed()
  const fleet = await startFleet(context, { replicas: 1, config: { kubernetes: { kubeconfig, requirePolicy: false } } })
  const warning = '"msg":"the admission policy is not at work: apply k8s/base/policy.yaml"'
  await eventually('the warning', async () => (await fleet.log(0)).includes(warning))
  expect(await metric(fleet.monitoringUrl(0))).toBe('0')
  expect(await admin.get('ConfigMap', 'skylab-policy-probe', 'default')).toBeNull()
  const user = fleet.user()
  expect((await user.create()).status).toBe(303)
  expect((await user.follow()).outcome).toBe('complete')
})

test('a replica that the policy does not cover is by default not ready, makes nothing, and says why', async context => {
  const { kubeconfig } = testBed()
  const fleet = await startFleet(context, { replicas: 1, ready: false, config: { kubernetes: { kubeconfig } } })
  const words = 'the admission policy is not at work: apply k8s/base/policy.yaml'
  await eventually('the reason', async () => {
    const answer = await fetch(`${fleet.monitoringUrl(0)}/readyz`)
    return answer.status === 503 && (await answer.text()).includes(words)
  })
  const user = fleet.user()
  const answer = await eventually('a refusal in words', async () => {
    const answer = await user.create()
    return answer.body.detail?.[0]?.msg.includes(words) ? answer : null
  })
  expect([answer.status, answer.body.detail[0]!.type]).toEqual([503, 'unavailable'])
  expect(answer.headers.get('retry-after')).toBe('2')
  expect(await fleet.world.namespaceOf(user.username)).toBeNull()
})

test('a replica whose labs would be refused is not ready, and names the missing rights', async context => {
  const lab = { tolerations: [{ key: 'kwok.x-k8s.io/node', operator: 'Exists' as const }] }
  const fleet = await startFleet(context, { replicas: 1, config: { lab } })
  await fleet.kill(0)
  const hostPath = { path: '/opt/never-granted' }
  configure(fleet, 0, config => ({
    ...config,
    lab: { ...config.lab, volumes: [{ name: 'v', hostPath }], mounts: [{ volume: 'v', path: '/v' }] },
  }))
  await fleet.start(0, { ready: false })
  await eventually('the reason', async () =>
    (await (await fetch(`${fleet.monitoringUrl(0)}/readyz`)).text()).includes('use hostpaths /opt/never-granted'),
  )
})
