/**
 * The least that tenants need of a cluster: the definition of the resource, which believes everything, and policies that
 * refuse nothing but the probes. The reconciler must be the gate by itself.
 */
import type { KubeObject } from '../../../src/base/domain.ts'
import { admissionVersion, guards, tenantPolicies, tenantProbes } from '../../../src/tenants/probes.ts'
import { tenantGroup, tenantParent } from '../../../src/tenants/words.ts'

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

export const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `lnamespaces.${tenantGroup}` },
  spec: {
    group: tenantGroup,
    scope: 'Cluster',
    names: { plural: 'lnamespaces', singular: 'lnamespace', kind: tenantParent.kind, shortNames: ['lns'] },
    versions: [
      {
        ...{ name: 'v1beta1', served: true, storage: true },
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec: anything, status: anything } } },
      },
    ],
  },
}

interface Refusing {
  readonly policy: string
  readonly apiGroup: string
  readonly resource: string
  readonly expression: string
}

function policyAndBinding({ policy: name, apiGroup, resource, expression }: Refusing): readonly KubeObject[] {
  const rule = { apiGroups: [apiGroup], apiVersions: ['*'], operations: ['CREATE'], resources: [resource] }
  return [
    {
      ...{ apiVersion: admissionVersion, kind: 'ValidatingAdmissionPolicy', metadata: { name } },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression, reason: 'Forbidden' }],
      },
    },
    {
      ...{ apiVersion: admissionVersion, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name } },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ]
}

const resources: Readonly<Record<string, { readonly apiGroup: string; readonly resource: string }>> = {
  [tenantPolicies.controller]: { apiGroup: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  [tenantPolicies.lnamespaces]: { apiGroup: tenantGroup, resource: 'lnamespaces' },
}

/** Policies, each followed by its binding. */
export const policies: readonly KubeObject[] = [
  ...tenantProbes('skylab').flatMap(({ policy, object }) =>
    policyAndBinding({
      policy,
      ...resources[policy]!,
      expression: `object.metadata.name != '${object.metadata.name}'`,
    }),
  ),
  ...guards.flatMap(policy =>
    policyAndBinding({ policy, ...{ apiGroup: tenantGroup, resource: 'lnamespaces', expression: 'true' } }),
  ),
]
