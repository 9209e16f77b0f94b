/** What the controller itself may do in the cluster (`k8s/base/rbac.yaml`): asked for, so that what is missing can be named. Pure. */
import { missingRights, type RightsRule } from './rights.ts'

const rule = (apiGroup: string, resources: readonly string[], verbs: readonly string[]): RightsRule[] =>
  resources.flatMap(resource => verbs.map(verb => ({ apiGroups: [apiGroup], resources: [resource], verbs: [verb] })))

const objects = ['configmaps', 'secrets', 'services', 'persistentvolumeclaims', 'resourcequotas']

/** Without one of these a lab can be neither made nor removed. */
const ofLabs: readonly RightsRule[] = [
  ...rule('', ['namespaces', 'pods'], ['get', 'list', 'watch', 'create', 'delete']),
  ...rule('', objects, ['create']),
  ...rule('networking.k8s.io', ['networkpolicies'], ['create']),
]

/** Without one of these something else does not work: reading again what stands, words about pods, prepulling. */
const aside: readonly RightsRule[] = [
  ...rule('rbac.authorization.k8s.io', ['rolebindings'], ['create']),
  {
    ...{ apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['bind'] },
    resourceNames: ['skylab-lab'],
  },
  ...rule('', ['events', 'nodes'], ['list', 'watch']),
]

/** In the controller's own namespace. */
const ofPrepulls = rule('apps', ['daemonsets'], ['get', 'list', 'watch', 'create', 'patch', 'delete'])

export const controllerRights = { everywhere: [...ofLabs, ...aside], within: ofPrepulls }

/** Rights that an account lacks, in words such as `create namespaces`. */
export interface MissingRights {
  readonly ofLabs: readonly string[]
  readonly others: readonly string[]
}

/** @param granted what the account has in the controller's own namespace */
export function missingOfController(granted: readonly RightsRule[]): MissingRights {
  const lacks = (needed: readonly RightsRule[]) =>
    missingRights(needed, granted).map(words => words.replace(/ \*$/, ''))
  return { ofLabs: lacks(ofLabs), others: lacks([...aside, ...ofPrepulls]) }
}
