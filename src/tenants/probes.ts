/** Probes of the admission policies of tenants: requests that they must refuse, and objects that are read. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { asObject, asObjects, asText } from '../base/json.ts'
import { registerKind } from '../kube/kinds.ts'
import { selfName } from './names.ts'
import { labelsFor } from './objects.ts'
import { rbacVersion, tenantParent } from './words.ts'

export const admissionVersion = 'admissionregistration.k8s.io/v1'
registerKind(admissionVersion, 'ValidatingAdmissionPolicy', {
  plural: 'validatingadmissionpolicies',
  namespaced: false,
})
registerKind(admissionVersion, 'ValidatingAdmissionPolicyBinding', {
  plural: 'validatingadmissionpolicybindings',
  namespaced: false,
})

/** Names of the policies; each binding has the same name. */
export const tenantPolicies = {
  /** Bounds the controller. */
  controller: 'skylab-tenants-controller',
  /** Bounds who makes and edits LNamespaces. */
  lnamespaces: 'skylab-tenants-lnamespaces',
} as const

/** They keep all others from what the controller has written. Each has an exception for the controller, so it is read. */
export const guards: readonly string[] = ['skylab-tenants-guard', 'skylab-tenants-guard-deletions']

/** Not a reserved name: `skylab-tenants-names` would refuse it too, and the API server names only one policy. */
const probeName = 'policy-probe-of-tenants'

export interface TenantProbe {
  readonly policy: string
  /** To be created, by a dry run. */
  readonly object: KubeObject
  readonly accepted: string
}

export const tenantProbes = (installation: string): readonly TenantProbe[] => [
  {
    policy: tenantPolicies.controller,
    object: {
      ...{ apiVersion: rbacVersion, kind: 'ClusterRole' },
      metadata: { name: selfName(probeName), labels: labelsFor({ installation }) },
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
    },
    accepted: 'a role with all rights',
  },
  {
    policy: tenantPolicies.lnamespaces,
    // It is asked for by an account of the cluster's own.
    object: { ...tenantParent, metadata: { name: probeName }, spec: {} },
    accepted: 'an LNamespace of an account of the cluster’s own',
  },
]

/** Why a guard does not guard, as far as its objects tell; undefined if nothing is wrong with them. */
export function guardProblem(name: string, policy: KubeObject | null, binding: KubeObject | null): string | undefined {
  if (!policy) return `there is no policy ${name}`
  if (!binding) return `there is no binding of the policy ${name}`
  const { failurePolicy = 'Fail', validations } = asObject(policy.spec)
  if (failurePolicy !== 'Fail') return `the policy ${name} lets pass what it cannot judge`
  if (asObjects(validations).length === 0) return `the policy ${name} has no rules`
  const { policyName, validationActions } = asObject(binding.spec)
  if (asText(policyName) !== name) return `the binding ${name} is one of another policy`
  const denies = Array.isArray(validationActions) && validationActions.includes('Deny')
  return denies ? undefined : `the policy ${name} denies nothing`
}
