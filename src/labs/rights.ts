/**
 * The rights that an operator grants to one installation: to own it, objects that its labs may have, and objects that
 * the controller reads in its own namespace. All of them follow from the configuration. Pure.
 *
 * Most of these rights name resources that no API serves. The policies of `k8s/base/policy.yaml` check them.
 */

import type { KubeObject } from '../base/domain.ts'
import type { Config } from '../config/schema.ts'
import { copiedNames } from './copies.ts'
import { levels, neededLevel, type PodSecurityLevel } from './pod-security.ts'
import { rootCapabilities } from './provision.ts'
import { mountedVolumes } from './volumes.ts'

/** The API group of the rights that policies check. */
export const policyGroup = 'skylab.dev'
/** The label by which the policy `skylab-labs` finds the roles of installations. */
export const installationLabel = 'skylab.dev/installation'
/** The controller's own namespace. The policy `skylab-installations` lets no other namespace take the name. */
export const namespaceLabel = 'skylab.dev/namespace'
/** Name of every controller's ServiceAccount: the policies use this name. */
export const accountName = 'skylab'
/** The role to which a controller binds itself in the namespace of a lab. */
export const labRole = 'skylab-lab'
/** The role of an account that stamps labs: only of an installation that stops idle ones. */
export const idleRole = 'skylab-idle'
/** The role of an account that lists what pods use: only where a rule for idle labs goes by that. */
export const cpuRole = 'skylab-cpu'

const rbac = 'rbac.authorization.k8s.io'
const apiVersion = `${rbac}/v1`

export interface RightsRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  /** Default: all names. */
  readonly resourceNames?: readonly string[]
}

export type RightsConfig = Pick<Config, 'installation' | 'lab' | 'idle' | 'network'>

/** Any label `group.skylab/…` (`groupKey`). The policy knows this name. */
const anyGroup = 'group.skylab/*'

/** Name of the objects that grant all of this. */
export const installationRole = (installation: string) => `skylab-installation-${installation}`

/**
 * The objects: a ClusterRole, the bindings to it and to the roles that all installations share (`k8s/base/rbac.yaml`),
 * a Role in the controller's own namespace and its binding. Each name contains the installation, so that several
 * installations fit on one cluster.
 */
export function renderRights(config: RightsConfig, namespace: string): KubeObject[] {
  const { installation, lab, idle } = config
  const name = installationRole(installation)
  const labels = { [installationLabel]: installation, [namespaceLabel]: namespace }
  const subjects = [{ kind: 'ServiceAccount', name: accountName, namespace }]
  const bound = (kind: string, role = name) => ({ roleRef: { apiGroup: rbac, kind, name: role }, subjects })
  const boundEverywhere = (called: string, role: string): KubeObject => ({
    ...{ apiVersion, kind: 'ClusterRoleBinding', metadata: { name: called, labels } },
    ...bound('ClusterRole', role),
  })
  return [
    { apiVersion, kind: 'ClusterRole', metadata: { name, labels }, rules: labRights(config) },
    boundEverywhere(name, name),
    boundEverywhere(`skylab-controller-${installation}`, 'skylab'),
    boundEverywhere(`skylab-marks-${installation}`, 'skylab-marks'),
    ...(idle.enabled ? [boundEverywhere(`${idleRole}-${installation}`, idleRole)] : []),
    ...(goesByCpu(idle) ? [boundEverywhere(`${cpuRole}-${installation}`, cpuRole)] : []),
    { apiVersion, kind: 'Role', metadata: { name, namespace, labels }, rules: sourceRights(lab) },
    { apiVersion, kind: 'RoleBinding', metadata: { name, namespace, labels }, ...bound('Role') },
  ]
}

/** Whether a rule of an installation that stops idle labs goes by what pods use. */
export const goesByCpu = ({ enabled, rules }: RightsConfig['idle']): boolean =>
  enabled && rules.some(({ sources }) => sources.includes('cpu'))

/**
 * The rights of labs, as the policy `skylab-labs` reads them. An empty list grants nothing, so its rule is left out.
 */
export function labRights({ installation, lab, network }: Omit<RightsConfig, 'idle'>): RightsRule[] {
  const volumes = mountedVolumes(lab, lab.provisioning)
  const { provisioning } = lab
  const claims = volumes.flatMap(({ persistentVolumeClaim: claim }) => (claim ? [claim] : []))
  const keys = lab.tolerations.map(({ key }) => key ?? '*')
  return [
    ...rule('installations', [installation], 'own'),
    ...rule('prefixes', [lab.namespacePrefix]),
    ...rule('podsecurity', podSecurityLevels(lab)),
    ...rule('users', provisioning?.runAsRoot ? ['root'] : []),
    ...rule('capabilities', provisioning?.runAsRoot && !provisioning.privileged ? rootCapabilities : []),
    ...rule('containers', provisioning?.privileged ? ['privileged'] : []),
    ...rule(
      'hostpaths',
      volumes.flatMap(({ hostPath }) => (hostPath ? [hostPath.path] : [])),
    ),
    ...rule(
      'nfs',
      volumes.flatMap(({ nfs }) => (nfs ? [`${nfs.server}:${nfs.path}${nfs.readOnly ? ':ro' : ''}`] : [])),
    ),
    ...classesOf(claims.map(({ storageClassName }) => storageClassName)),
    ...rule(
      'persistentvolumes',
      claims.flatMap(({ volumeName }) => volumeName ?? []),
    ),
    ...rule('tolerations', keys),
    ...rule('labels', network.appsOfGroups ? [anyGroup] : []),
    ...rule(
      'annotations',
      Object.entries(lab.annotations).map(([key, value]) => `${key}=${value}`),
    ),
  ]
}

/**
 * The name of the cluster's default class is unknown here, so a claim without a class needs the right to every class.
 */
function classesOf(names: readonly (string | undefined)[]): RightsRule[] {
  const named = names.filter(name => name !== undefined)
  if (named.length === names.length) return rule('storageclasses', named)
  return [{ apiGroups: [policyGroup], resources: ['storageclasses'], verbs: ['use'] }]
}

function rule(resource: string, names: readonly string[], verb = 'use'): RightsRule[] {
  if (names.length === 0) return []
  const resourceNames = [...new Set(names)]
  return [{ apiGroups: [policyGroup], resources: [resource], resourceNames, verbs: [verb] }]
}

/** The level of these labs' namespaces and all stricter ones: a user who was provisioned needs a stricter one. */
function podSecurityLevels(lab: Config['lab']): readonly PodSecurityLevel[] {
  const laxest = lab.podSecurity ?? neededLevel(lab, lab.provisioning)
  return levels.slice(0, levels.indexOf(laxest) + 1)
}

/** The objects that the controller reads in its own namespace, each by its name. */
function sourceRights(lab: Config['lab']): RightsRule[] {
  const { secrets, configMaps } = copiedNames(lab)
  const reads = (resource: string, resourceNames: readonly string[]) =>
    resourceNames.length > 0 ? [{ apiGroups: [''], resources: [resource], resourceNames, verbs: ['get'] }] : []
  return [...reads('secrets', secrets), ...reads('configmaps', configMaps)]
}

/** Each right as a text: `use hostpaths /opt/software`. */
export function rightsInWords(rules: readonly RightsRule[]): string[] {
  return rules.flatMap(({ resources, verbs, resourceNames = ['*'] }) =>
    resources.flatMap(resource =>
      verbs.flatMap(verb => resourceNames.map(name => `${verb} ${resource} ${name === '' ? '""' : name}`)),
    ),
  )
}

/** The rights of `needed` that `granted` does not contain, as texts. */
export function missingRights(needed: readonly RightsRule[], granted: readonly RightsRule[]): string[] {
  const singly = needed.flatMap(({ resourceNames, ...each }) =>
    resourceNames ? resourceNames.map(name => ({ ...each, resourceNames: [name] })) : [each],
  )
  return rightsInWords(singly.filter(each => !granted.some(other => holds(other, each))))
}

const holds = (granted: RightsRule, { apiGroups, resources, verbs, resourceNames }: RightsRule): boolean =>
  has(granted.apiGroups, apiGroups[0]!) &&
  has(granted.resources, resources[0]!) &&
  has(granted.verbs, verbs[0]!) &&
  ((granted.resourceNames ?? []).length === 0 ||
    (resourceNames !== undefined && granted.resourceNames!.includes(resourceNames[0]!)))

const has = (list: readonly string[], one: string): boolean => list.includes(one) || list.includes('*')
