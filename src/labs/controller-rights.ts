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

export const controllerRights = { idle: forIdle, everywhere: [...forLabs, ...forOthers], within: forPrepulls }

/** Rights that an account lacks, in words such as `create namespaces`. */
export interface MissingRights {
  readonly forLabs: readonly string[]
  readonly others: readonly string[]
}

/**
 * @param granted what the account has in the controller's own namespace
 * @param stopsIdle whether idle labs are stopped
 */
export function missingOfController(granted: readonly RightsRule[], stopsIdle = false): MissingRights {
  const lacks = (needed: readonly RightsRule[]) =>
    missingRights(needed, granted).map(words => words.replace(/ \*$/, ''))
  return { forLabs: lacks(forLabs), others: lacks([...forOthers, ...forPrepulls, ...(stopsIdle ? forIdle : [])]) }
}
