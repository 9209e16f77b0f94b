/**
 * The rights that the controller needs in the cluster (`k8s/base/rbac.yaml`), so that it can name a missing one. Pure.
 */
import { missingRights, type RightsRule } from './rights.ts'

const rule = (apiGroup: string, resources: readonly string[], verbs: readonly string[]): RightsRule[] =>
  resources.flatMap(resource => verbs.map(verb => ({ apiGroups: [apiGroup], resources: [resource], verbs: [verb] })))

const objects = ['configmaps', 'secrets', 'services', 'persistentvolumeclaims', 'resourcequotas']

/** Labs can be neither created nor removed without these. */
const forLabs: readonly RightsRule[] = [
  ...rule('', ['namespaces', 'pods'], ['get', 'list', 'watch', 'create', 'delete']),
  ...rule('', objects, ['create']),
  ...rule('networking.k8s.io', ['networkpolicies'], ['create']),
]

/** Other features need these: reading a lab's objects again (by a RoleBinding), messages about pods, prepulling. */
const forOthers: readonly RightsRule[] = [
  ...rule('rbac.authorization.k8s.io', ['rolebindings'], ['create']),
  {
    ...{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] },
    resourceNames: ['skylab-lab'],
  },
  ...rule('', ['events', 'nodes'], ['list', 'watch']),
]

/** Needed in the controller's own namespace. */
const forPrepulls = rule('apps', ['daemonsets'], ['get', 'list', 'watch', 'create', 'patch', 'delete'])

/** Needed where idle labs are stopped: to stamp their pods. */
const forIdle = rule('', ['pods'], ['patch'])

/** Needed where a rule for idle labs goes by what pods use. */
const forCpu = rule('metrics.k8s.io', ['pods'], ['list'])

export const controllerRights = {
  ...{ idle: forIdle, cpu: forCpu },
  everywhere: [...forLabs, ...forOthers],
  within: forPrepulls,
}

/** Rights that an account lacks, in words such as `create namespaces`. */
export interface MissingRights {
  readonly forLabs: readonly string[]
  readonly others: readonly string[]
}

/**
 * @param granted what the account has in the controller's own namespace
 * @param idle whether idle labs are stopped, and whether a rule for them goes by what pods use
 */
export function missingOfController(
  granted: readonly RightsRule[],
  { stamps = false, cpu = false }: { readonly stamps?: boolean; readonly cpu?: boolean } = {},
): MissingRights {
  const lacks = (needed: readonly RightsRule[]) =>
    missingRights(needed, granted).map(words => words.replace(/ \*$/, ''))
  const others = lacks([...forOthers, ...forPrepulls, ...(stamps ? forIdle : [])])
  // Pods themselves can be listed: its words name the group.
  const ofMetrics = cpu && lacks(forCpu).length > 0 ? ['list pods.metrics.k8s.io'] : []
  return { forLabs: lacks(forLabs), others: [...others, ...ofMetrics] }
}
