/** What the policy of apps refuses of its own account, each by one rule, and what it admits. */
import { renderApp } from '../../../src/apps/render.ts'
import { readApp } from '../../../src/apps/spec.ts'
import { appParent } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'
import { apps } from '../../../src/config/apps.ts'
import { factOf } from '../../../src/reconcile/facts.ts'
import { type Ask, change, make, type PolicySite } from './policy-site.ts'

export interface Case {
  readonly title: string
  readonly ask: (world: PolicyWorld) => Ask
  /** The message of the rule. */
  readonly words: string
}

/** The objects of an app, and others, that stand in the cluster. */
export interface PolicyWorld {
  readonly site: PolicySite
  readonly app: KubeObject
  readonly objects: Readonly<Record<'Deployment' | 'Service' | 'NetworkPolicy', KubeObject>>
  /** A Service of nobody, with the name of an app's. */
  readonly foreign: KubeObject
  /** A Deployment of the app in a namespace of no group. */
  readonly elsewhere: KubeObject
  readonly template: KubeObject
  /** Secret variables of the app. */
  readonly secret: KubeObject
}

/** A Secret as REST makes it for an app. */
export function secretOf(app: KubeObject, id: string, suffix = '0123456789abcdef'): KubeObject {
  const { metadata } = rendered(app, id).Service
  const labels = { 'primehub.io/phapplication': id, 'app.kubernetes.io/managed-by': 'skylab' }
  const named = { ...metadata, name: `app-${id}-env-${suffix}`, labels }
  return { apiVersion: 'v1', kind: 'Secret', metadata: named, type: 'Opaque', stringData: { k: 'v' } }
}

/** What an app of these settings makes. */
export function rendered(app: KubeObject, name = app.metadata.name): PolicyWorld['objects'] {
  const [namespace, group] = [app.metadata.namespace!, String((app.spec as { groupName: string }).groupName)]
  const settings = {
    apps: apps.parse({ groups: { [group]: { namespace } } }),
    ownNamespace: 'skylab',
    installation: 'skylab',
  }
  const named = { ...app, metadata: { ...app.metadata, name } }
  const fact = factOf(named, [['spec'], ['metadata', 'generation'], ['metadata', 'creationTimestamp']])
  const groups = [{ name: group, volumes: [], quota: {}, isAlone: true }]
  const { spec } = readApp(fact, settings, { groups, isTaken: false })
  const objects = renderApp(fact, spec!, settings, true).objects.map(({ object }) => object)
  const ofKind = (kind: string) => objects.find(each => each.kind === kind)!
  return { Deployment: ofKind('Deployment'), Service: ofKind('Service'), NetworkPolicy: ofKind('NetworkPolicy') }
}

export const at = (object: KubeObject, path: string, value: unknown): KubeObject => {
  const copy = structuredClone(object) as unknown as Record<string, unknown>
  const names = path.split('.')
  const last = names.pop()!
  // biome-ignore lint/suspicious/noExplicitAny: a path into any object
  const inner = names.reduce<any>((value, name) => (value[name] ??= {}), copy)
  if (value === undefined) delete inner[last]
  else inner[last] = value
  return copy as unknown as KubeObject
}

/** A new app's object of a kind, with one field changed. */
const altered = (kind: keyof PolicyWorld['objects'], path: string, value: unknown) => (world: PolicyWorld) =>
  make(at(rendered(world.app, 'green')[kind], path, value))

const pod = 'spec.template.spec'
const main = `${pod}.containers.0`
const ownerOf = ({ metadata: { name, uid } }: KubeObject) => ({ ...appParent, name, uid: uid! })

const one = (title: string, words: string, ask: Case['ask']): Case => ({ title, words, ask })
const field = (kind: keyof PolicyWorld['objects'], path: string, value: unknown, words: string): Case =>
  one(`a ${kind} with ${path}: ${JSON.stringify(value)}`, words, altered(kind, path, value))

const fieldOfPod = 'its pods have a field that pods of apps never have'
const volume = 'its pods have a volume that is no claim'
const rights = 'a container is privileged'
const beyond = 'it is a Service beyond the cluster'
const ofNoGroup = 'the namespace is not known as one of a group'

export const refused: readonly Case[] = [
  one('a scale', 'it writes a status or a scale', ({ objects }) =>
    change(objects.Deployment, { spec: { replicas: 1 } }, '/scale'),
  ),
  one('the status of a Deployment', 'it writes a status or a scale', ({ objects }) =>
    change(objects.Deployment, { status: { observedGeneration: 1 } }, '/status'),
  ),
  one('an object in kube-system', "the namespace is the controller's own", ({ app }) =>
    make(at(rendered(app, 'green').Service, 'metadata.namespace', 'kube-system')),
  ),
  one('an object in its own namespace', "the namespace is the controller's own", ({ app, site }) =>
    make(at(rendered(app, 'green').Service, 'metadata.namespace', `${site.name}-own`)),
  ),
  one('an object in the namespace of a lab', 'the namespace is one of labs', ({ app, site }) =>
    make(at(rendered(app, 'green').Service, 'metadata.namespace', `${site.name}-lab`)),
  ),
  ...(['Deployment', 'Service', 'NetworkPolicy'] as const).map(kind =>
    one(`a ${kind} in a namespace of no group`, ofNoGroup, ({ app, site }) =>
      make(at(rendered(app, 'green')[kind], 'metadata.namespace', `${site.name}-else`)),
    ),
  ),
  one('a Deployment without pods in a namespace of no group', ofNoGroup, ({ app, site }) =>
    make(at(at(rendered(app, 'green').Deployment, 'metadata.namespace', `${site.name}-else`), 'spec.replicas', 0)),
  ),
  one('a Secret in a namespace of no group', ofNoGroup, ({ app, site }) =>
    make(at(secretOf(app, 'green'), 'metadata.namespace', `${site.name}-else`)),
  ),
  one('a quota in a namespace of no group', ofNoGroup, ({ site }) =>
    make({
      ...{ apiVersion: 'v1', kind: 'ResourceQuota' },
      metadata: { name: 'skylab-apps', namespace: `${site.name}-else` },
      spec: { hard: { pods: '0' } },
    }),
  ),
  one('pods in a namespace of no group', ofNoGroup, ({ elsewhere }) => change(elsewhere, { spec: { replicas: 1 } })),
  ...[
    { labels: { team: 'x' } },
    { finalizers: ['example.org/x'] },
    { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] },
  ].map(more =>
    one(`a new app with ${Object.keys(more)}`, 'it makes an app or a template with labels', ({ app }) =>
      make({ ...app, metadata: { name: 'green', namespace: app.metadata.namespace!, ...more } }),
    ),
  ),
  one('a new app in the namespace of a lab', 'the namespace is one of labs', ({ app, site }) =>
    make({ ...app, metadata: { name: 'green', namespace: `${site.name}-lab` } }),
  ),
  one('a new template with labels', 'it makes an app or a template with labels', ({ template, site }) =>
    make({ ...template, metadata: { name: 'green', namespace: site.name, labels: { team: 'x' } } }),
  ),
  one('a template with another owner', 'it would change labels, owners, finalizers', ({ template }) =>
    change(template, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] } }),
  ),
  one('a template with a finalizer', 'it would change labels, owners, finalizers', ({ template }) =>
    change(template, { metadata: { finalizers: ['example.org/x'] } }),
  ),
  one('a template in kube-system', "the namespace is the controller's own", ({ template }) =>
    make({ ...template, metadata: { name: 'green', namespace: 'kube-system' } }),
  ),
  one('an app with another owner', 'it would change labels, owners, finalizers', ({ app }) =>
    change(app, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }] } }),
  ),
  one('an app with a finalizer', 'it would change labels, owners, finalizers', ({ app }) =>
    change(app, { metadata: { finalizers: ['example.org/x'] } }),
  ),
  one(
    'an object of nobody',
    'it does not belong to one PhApplication alone',
    altered('Service', 'metadata.ownerReferences', undefined),
  ),
  one(
    'an object of another kind',
    'it does not belong to one PhApplication alone',
    altered('Service', 'metadata.ownerReferences.0.kind', 'PhAppTemplate'),
  ),
  one('an object of two', 'it does not belong to one PhApplication alone', ({ app }) =>
    make(
      at(rendered(app, 'green').Service, 'metadata.ownerReferences.1', { ...ownerOf(app), name: 'green', uid: 'y' }),
    ),
  ),
  one('another’s Service, made ours', 'it did not belong to a PhApplication alone', ({ foreign, app }) => {
    const { metadata, spec } = rendered(app, 'red').Service
    return change(foreign, { metadata: { ownerReferences: metadata.ownerReferences, labels: metadata.labels }, spec })
  }),
  one('an object of another name', 'it has another name', altered('Service', 'metadata.name', 'kubernetes')),
  one(
    'an object of another app’s name',
    'it has another name',
    altered('Service', 'metadata.ownerReferences.0.name', 'red'),
  ),
  field('Service', 'metadata.labels.team', 'x', 'it bears a label that objects of apps never have'),
  field('Deployment', 'metadata.finalizers', ['example.org/x'], 'it adds a finalizer'),
  field('Deployment', 'spec.replicas', 2, 'it runs more than one pod'),
  one('a Deployment of other pods', 'it selects other pods', ({ app }) =>
    make(
      ['spec.selector.matchLabels', 'spec.template.metadata.labels'].reduce(
        (object, path) => at(object, path, { app: 'primehub-app' }),
        rendered(app, 'green').Deployment,
      ),
    ),
  ),
  field('Deployment', 'spec.template.metadata.labels.team', 'x', 'its pods bear a label that'),
  field('Deployment', 'spec.template.metadata.annotations', { 'a.b/c': 'x' }, 'its pods bear an annotation'),
  field('Deployment', `${pod}.automountServiceAccountToken`, true, 'its pods have a token'),
  ...[
    ['hostNetwork', true],
    ['hostPID', true],
    ['hostIPC', true],
    ['nodeName', 'node-1'],
    ['serviceAccountName', 'builder'],
    ['shareProcessNamespace', true],
    ['priorityClassName', 'system-node-critical'],
    ['runtimeClassName', 'x'],
  ].map(([name, value]) => field('Deployment', `${pod}.${name}`, value, fieldOfPod)),
  ...[
    { hostPath: { path: '/' } },
    { nfs: { server: 'x', path: '/' } },
    { csi: { driver: 'x' } },
    { projected: { sources: [{ serviceAccountToken: { path: 'x' } }] } },
    { downwardAPI: {} },
  ].map(source => field('Deployment', `${pod}.volumes.1`, { name: 'x', ...source }, volume)),
  field(
    'Deployment',
    `${pod}.securityContext`,
    { sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] },
    'its pods have a security context',
  ),
  field('Deployment', `${pod}.securityContext`, { supplementalGroups: [0] }, 'its pods have a security context'),
  ...[
    { privileged: true },
    { allowPrivilegeEscalation: true },
    { capabilities: { add: ['SYS_ADMIN'] } },
    { procMount: 'Default' },
    { seLinuxOptions: { type: 'spc_t' } },
  ].map(context => field('Deployment', `${main}.securityContext`, context, rights)),
  field('Deployment', `${pod}.initContainers.0.securityContext`, { privileged: true }, rights),
  field('Deployment', `${main}.ports`, [{ containerPort: 80, hostPort: 80 }], 'a container has a port or a device'),
  one('a Deployment with a device of its node', 'a container has a port or a device', ({ app }) => {
    const claimed = { name: 'x', persistentVolumeClaim: { claimName: 'x' } }
    const withClaim = at(rendered(app, 'green').Deployment, `${pod}.volumes.1`, claimed)
    return make(at(withClaim, `${main}.volumeDevices`, [{ name: 'x', devicePath: '/dev/x' }]))
  }),
  field('Deployment', `${pod}.initContainers.0.name`, 'other', 'it has another init container'),
  field('Deployment', `${pod}.initContainers.0.restartPolicy`, 'Always', 'it has another init container'),
  one('a Secret that would be filled with a token', 'it is a Secret of another type than Opaque', ({ app }) => {
    const annotated = at(secretOf(app, 'green'), 'metadata.annotations', {
      'kubernetes.io/service-account.name': 'default',
    })
    return make({ ...annotated, type: 'kubernetes.io/service-account-token' })
  }),
  one('a change of a Secret', 'it changes a Secret', ({ secret }) => change(secret, { stringData: { k: 'w' } })),
  one('a Secret of nobody', 'it does not belong to one PhApplication alone', ({ app }) =>
    make(at(secretOf(app, 'green'), 'metadata.ownerReferences', undefined)),
  ),
  one('a Secret of a name without a suffix', 'it has another name', ({ app }) =>
    make(at(secretOf(app, 'green'), 'metadata.name', 'app-green-env')),
  ),
  one('a Secret of another suffix', 'it has another name', ({ app }) => make(secretOf(app, 'green', 'tls'))),
  one('a Secret of another app’s name', 'it has another name', ({ app }) =>
    make(at(secretOf(app, 'green'), 'metadata.name', 'app-red-env-0123456789abcdef')),
  ),
  field('Service', 'spec.type', 'NodePort', beyond),
  field('Service', 'spec.type', 'LoadBalancer', beyond),
  field('Service', 'spec.externalIPs', ['192.0.2.1'], beyond),
  field('Service', 'spec.selector', { app: 'coredns' }, 'it is a Service of other pods'),
  field('Service', 'spec.selector', null, 'it is a Service of other pods'),
  field('NetworkPolicy', 'spec.podSelector', {}, 'it is a NetworkPolicy of other pods'),
  one('a quota of another name', 'it is a ResourceQuota of another name', ({ site }) =>
    make({
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'x', namespace: site.name },
      spec: { hard: {} },
    }),
  ),
]
