/** How it is seen that the admission policies of tenants are in force: what they must refuse, and what is read. Pure. */
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
  /** Keeps all others from what the controller has written. It has an exception for the controller, so it is read. */
  guard: 'skylab-tenants-guard',
} as const

const probeName = 'skylab-policy-probe'

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
    // Whoever asks for it is an account of the cluster's own.
    object: { ...tenantParent, metadata: { name: probeName }, spec: {} },
    accepted: 'an LNamespace of an account of the cluster’s own',
  },
]

/** Why the guard does not guard, as far as its objects tell; undefined if nothing is wrong with them. */
export function guardProblem(policy: KubeObject | null, binding: KubeObject | null): string | undefined {
  const { guard } = tenantPolicies
  if (!policy) return `there is no policy ${guard}`
  if (!binding) return `there is no binding of the policy ${guard}`
  const { failurePolicy = 'Fail', validations } = asObject(policy.spec)
  if (failurePolicy !== 'Fail') return `the policy ${guard} lets pass what it cannot judge`
  if (asObjects(validations).length === 0) return `the policy ${guard} has no rules`
  const { policyName, validationActions } = asObject(binding.spec)
  if (asText(policyName) !== guard) return `the binding ${guard} is one of another policy`
  const denies = Array.isArray(validationActions) && validationActions.includes('Deny')
  return denies ? undefined : `the policy ${guard} denies nothing`
}
