/**
 * tenants N7: no right before Pod Security, quota, limits and network, whenever a replica is killed; and sudo lifts none of
 * these. The judges are the audit log, and the policy that a refusal names.
 */
import { creationPath, objectPath } from '../../../../src/kube/kinds.ts'
import { platformName } from '../../../../src/tenants/names.ts'
import { attack, type Trial } from '../../../kit/attack/attack.ts'
import type { AuditedRequest } from '../../../kit/evidence/audit.ts'
import { account } from '../../../kit/tenants/objects.ts'
import type { TenantFleet } from '../../tenants/tenant-fleet.ts'
import { isWhole } from '../points.ts'
import { everything, tenantFleet } from './shared.ts'

const platform = {
  podSecurity: 'restricted',
  quota: { pods: '5' },
  limits: { max: { cpu: '1' } },
  network: 'deny',
}

const bounds = ['Namespace', 'ResourceQuota', 'LimitRange', 'NetworkPolicy']
const writes = [...bounds, 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding'].map(kind => `create.${kind}`)
const points = (isWhole ? [...writes, 'report.LNamespace'] : ['create.LimitRange']).flatMap(write =>
  (isWhole ? ['before-send', 'after-send'] : ['after-send']).map(place => `${write}.${place}`),
)

const plurals = ['namespaces', 'resourcequotas', 'limitranges', 'networkpolicies']

/** In the audit log every bound was made before the request for the first right arrived. */
async function judgeOrder(trial: Trial, fleet: TenantFleet, name: string, what: string): Promise<void> {
  const ours = ({ sender, verb, code, dryRun }: AuditedRequest) =>
    sender === account && verb === 'create' && code === 201 && !dryRun
  const made = (await fleet.audit.all()).filter(ours)
  const isRight = ({ resource, namespace, name: of }: AuditedRequest) =>
    resource === 'rolebindings' ? namespace === name : resource === 'clusterrolebindings' && of.endsWith(`:${name}`)
  const firstMs = Math.min(...made.filter(isRight).map(({ receivedAtMs }) => receivedAtMs))
  for (const resource of plurals) {
    const bound = made.find(each => each.resource === resource && each.namespace === name)
    if (!bound) trial.violation(`${what}: no ${resource} was made`)
    else if (bound.completedAtMs > firstMs) trial.violation(`${what}: a right before ${resource}`)
  }
}

async function killsAtEachAct(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  for (const [i, point] of points.entries()) {
    trial.injected()
    const name = `${fleet.name}-bounds-${i}`
    const arm = fleet.failpoints.arm(`reconcile.tenant.${point}`, 'kill', { user: name })
    await fleet.make({ ...everything([`ada-${name}`]), platform }, name)
    const begunMs = performance.now()
    await arm.landed()
    await fleet.says(name, 'Ready', 'Ready')
    trial.took(performance.now() - begunMs)
    trial.landed()
    await judgeOrder(trial, fleet, name, point)
    await fleet.ready()
  }
}

/** A request of a sudoer for what lies under his own tenant. */
interface Blow {
  readonly what: string
  readonly method: string
  readonly path: string
  readonly body?: object
}

const rbac = 'rbac.authorization.k8s.io/v1'
const namespacePath = (name: string) => objectPath({ apiVersion: 'v1', kind: 'Namespace', name })
const bound = (kind: string, namespace: string) =>
  objectPath({
    apiVersion: kind === 'NetworkPolicy' ? 'networking.k8s.io/v1' : 'v1',
    ...{ kind, namespace, name: platformName },
  })
const binding = (name: string, namespace: string) =>
  objectPath({ apiVersion: rbac, kind: 'RoleBinding', name, namespace })

function blowsAt(name: string): readonly Blow[] {
  const path = namespacePath(name)
  const relabel = (labels: object) => ({ metadata: { labels } })
  const psa = 'pod-security.kubernetes.io'
  const anybody = { subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }] }
  return [
    ...[`${psa}/enforce`, `${psa}/enforce-version`, `${psa}/warn`].flatMap(label => [
      {
        what: `relabels ${label}`,
        method: 'PATCH',
        path,
        body: relabel({ [label]: label.endsWith('version') ? 'v1.0' : 'privileged' }),
      },
    ]),
    { what: 'takes Pod Security away', method: 'PATCH', path, body: relabel({ [`${psa}/enforce`]: null }) },
    ...['lns.skylab/of', 'lns.skylab/uid', 'lns.skylab/installation'].flatMap(label => [
      { what: `takes ${label} away`, method: 'PATCH', path, body: relabel({ [label]: null }) },
      { what: `relabels ${label}`, method: 'PATCH', path, body: relabel({ [label]: 'x' }) },
    ]),
    { what: 'orphans the namespace', method: 'PATCH', path, body: { metadata: { ownerReferences: [] } } },
    { what: 'adds a finalizer', method: 'PATCH', path, body: { metadata: { finalizers: ['x.example.org/y'] } } },
    {
      what: 'marks for adoption',
      method: 'PATCH',
      path,
      body: { metadata: { annotations: { 'lns.skylab/adopt': 'x' } } },
    },
    {
      what: 'finalizes',
      method: 'PUT',
      path: `${path}/finalize`,
      body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec: {} },
    },
    ...['ResourceQuota', 'LimitRange', 'NetworkPolicy'].flatMap(kind => [
      {
        what: `changes the ${kind}`,
        method: 'PATCH',
        path: bound(kind, name),
        body: { metadata: { labels: { 'lns.skylab/of': null } } },
      },
      { what: `deletes the ${kind}`, method: 'DELETE', path: bound(kind, name) },
    ]),
    {
      what: 'raises the quota',
      method: 'PATCH',
      path: bound('ResourceQuota', name),
      body: { spec: { hard: { pods: '99' } } },
    },
    {
      what: 'resets the quota’s use',
      method: 'PATCH',
      path: `${bound('ResourceQuota', name)}/status`,
      body: { status: { used: { pods: '0' } } },
    },
    {
      what: 'opens the network',
      method: 'PATCH',
      path: bound('NetworkPolicy', name),
      body: { spec: { ingress: [{}] } },
    },
    { what: 'binds anybody', method: 'PATCH', path: binding('lns-developer', name), body: anybody },
    { what: 'makes anybody root', method: 'PATCH', path: binding('lns-sudoer', name), body: anybody },
    { what: 'deletes a binding', method: 'DELETE', path: binding('lns-developer', name) },
    {
      what: 'takes a name of ours',
      method: 'POST',
      path: creationPath('v1', 'LimitRange', name),
      body: { apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'lns-own' }, spec: { limits: [] } },
    },
    { what: 'deletes the namespace', method: 'DELETE', path },
  ]
}

async function sudoLiftsNone(trial: Trial): Promise<void> {
  const fleet = await tenantFleet()
  const name = `${fleet.name}-sudo`
  const sue = `sue-${name}`
  await fleet.make({ ...everything([sue]), platform }, name)
  await fleet.says(name, 'Ready', 'Ready')
  const read = async () => {
    const paths = [
      namespacePath(name),
      ...['ResourceQuota', 'LimitRange', 'NetworkPolicy'].map(kind => bound(kind, name)),
    ]
    const all = await Promise.all(paths.map(async path => (await fleet.kube.request('GET', path)).body))
    return all.map(({ metadata, spec }) =>
      JSON.stringify([metadata.uid, metadata.labels, metadata.ownerReferences, spec]),
    )
  }
  const before = await read()
  // As the API server has it once it has let her impersonate: herself, in this group alone.
  const root = { 'Impersonate-User': sue, 'Impersonate-Group': [`${name}-sudoers`] }
  const verdicts = new Map<string, number>()
  for (const { what, method, path, body } of blowsAt(name)) {
    trial.injected()
    const { status, body: answer } = await fleet.kube.request(method, path, body, root)
    const policy = /ValidatingAdmissionPolicy '([^']+)'/.exec(answer?.message ?? '')?.[1]
    verdicts.set(policy ?? String(status), (verdicts.get(policy ?? String(status)) ?? 0) + 1)
    if (status < 300) trial.violation(`a sudoer ${what}: it was admitted`)
    else if (status === 403 && policy !== undefined) trial.landed()
    else trial.violation(`a sudoer ${what}: ${status} ${answer?.message}`)
  }
  trial.figure('refusedBy', Object.fromEntries(verdicts))
  const after = await read().catch(error => [String(error)])
  const changed = before.findIndex((text, i) => text !== after[i])
  if (changed >= 0) trial.violation(`what bounds the tenant has changed: ${after[changed]}`)
}

attack('tenants N7 kills before the first right', killsAtEachAct, { limitMs: 600_000 })
attack('tenants N7 sudo lifts no bound', sudoLiftsNone)
