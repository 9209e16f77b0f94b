/** The objects of an app (seed 001, "Controller"), by an allow-list. Pure. */
import type { KubeMetadata } from '../base/domain.ts'
import type { JsonObject } from '../base/json.ts'
import { asObject } from '../base/json.ts'
import { groupKey, labels } from '../kube/labels.ts'
import type { Fact, Wanted } from '../reconcile/types.ts'
import { Pruned } from './allow.ts'
import type { AppSettings } from './groups.ts'
import { appObjectName, groupLabel, groupPolicyName, proxyPolicyName } from './names.ts'
import { podSpecOf } from './pod.ts'
import { others } from './pod-forms.ts'
import type { AppSpec, ServicePort } from './spec.ts'
import { appLabels, appLabelValue } from './words.ts'

/**
 * Nobody reaches a pod before its policies stand. What a former app of the name has left is the garbage collector's, as all
 * that is to go: the account may delete none of these.
 */
export const stages = { policies: 0, service: 1, deployment: 2 } as const

export interface Rendered {
  readonly objects: readonly Wanted[]
  /** Paths in the PhApplication that were left out. */
  readonly pruned: readonly string[]
}

/** @param hasPods whether a Deployment stands: before that nobody needs a policy at once */
export function renderApp(app: Fact, spec: AppSpec, settings: AppSettings, hasPods: boolean): Rendered {
  const pruned = new Pruned()
  const deployment = deploymentOf(app, spec, settings, pruned)
  const service = serviceOf(app, spec, pruned)
  const policies = policiesOf(app, spec, settings).map(
    object => ({ object, ...fromFormer, stage: stages.policies, compare: 'exact', restricts: hasPods }) as const,
  )
  return {
    objects: [
      ...policies,
      { object: service, ...fromFormer, stage: stages.service, compare: 'covers' },
      { object: deployment, ...fromFormer, stage: stages.deployment, compare: 'covers' },
    ],
    pruned: pruned.paths,
  }
}

const fromFormer = { former: 'await' } as const

const podLabels = ({ id, group }: AppSpec) => ({
  [appLabels.app]: appLabelValue,
  [appLabels.of]: id,
  [appLabels.group]: groupLabel(group.name),
})

const selectorOf = ({ id }: AppSpec) => ({ [appLabels.app]: appLabelValue, [appLabels.of]: id })

export const ownerOf = ({ ref: { apiVersion, kind, name }, uid }: Fact) => ({
  ...{ apiVersion, kind, name, uid },
  controller: true,
})

function metadataOf(app: Fact, name: string, spec: AppSpec): KubeMetadata {
  const { namespace } = app.ref
  const place = { name, ...(namespace !== undefined && { namespace }) }
  return { ...place, labels: podLabels(spec), ownerReferences: [ownerOf(app)] }
}

/** One pod more during a change, never less; or first none. */
const strategyOf = ({ isRecreated }: AppSpec) =>
  isRecreated ? { type: 'Recreate' } : { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }

function deploymentOf(app: Fact, spec: AppSpec, settings: AppSettings, pruned: Pruned) {
  return {
    ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
    metadata: metadataOf(app, appObjectName(spec.id), spec),
    spec: {
      replicas: spec.stop ? 0 : 1,
      revisionHistoryLimit: 2,
      strategy: strategyOf(spec),
      selector: { matchLabels: selectorOf(spec) },
      template: { metadata: { labels: podLabels(spec) }, spec: podSpecOf(spec, settings, pruned) },
    },
  }
}

function serviceOf(app: Fact, spec: AppSpec, pruned: Pruned) {
  const { svcTemplate, ports } = spec
  others(svcTemplate, ['spec'], 'spec.svcTemplate', pruned)
  const raw = asObject(svcTemplate.spec)
  others(raw, raw.type === 'ClusterIP' ? ['ports', 'type'] : ['ports'], 'spec.svcTemplate.spec', pruned)
  return {
    ...{ apiVersion: 'v1', kind: 'Service' },
    metadata: metadataOf(app, appObjectName(spec.id), spec),
    spec: {
      ...{ type: 'ClusterIP', selector: selectorOf(spec), ports: ports.map(port => ({ ...port })) },
      ...{ externalIPs: null, externalName: null },
    },
  }
}

const targetOf = ({ protocol, targetPort }: ServicePort) => ({ protocol, port: targetPort })

/** Each once: two ports of a Service may lead to one of the pod. */
function targetsOf(ports: readonly ServicePort[]): readonly JsonObject[] {
  return [...new Map(ports.map(port => [`${port.protocol} ${port.targetPort}`, targetOf(port)])).values()]
}

/** With the defaults that the server would fill in. */
function policiesOf(app: Fact, spec: AppSpec, { apps, ownNamespace, installation }: AppSettings) {
  const { id, group, ports, http } = spec
  const labs = {
    namespaceSelector: { matchLabels: { [labels.installation]: installation } },
    podSelector: { matchLabels: { [groupKey(group.name)]: '' } },
  }
  const ofGroup = { podSelector: { matchLabels: { [appLabels.group]: groupLabel(group.name) } } }
  const gateway = {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': apps.gateway.namespace ?? ownNamespace } },
    podSelector: { matchLabels: apps.gateway.selector },
  }
  const policy = (name: string, ingress: readonly JsonObject[]) => ({
    ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
    metadata: metadataOf(app, name, spec),
    spec: {
      podSelector: { matchLabels: selectorOf(spec) },
      policyTypes: ['Ingress'],
      // The server stores no empty list.
      ...(ingress.length > 0 && { ingress }),
    },
  })
  return [
    policy(groupPolicyName(id), [
      { from: [ofGroup, ...(apps.labs && !group.isTenant ? [labs] : [])], ports: targetsOf(ports) },
    ]),
    policy(proxyPolicyName(id), http ? [{ from: [gateway], ports: [targetOf(http)] }] : []),
  ]
}
