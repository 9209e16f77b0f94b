/** The namespace of a tenant, and what bounds it: quota, limits, network. Pure. */

import type { Billing } from '../base/bill.ts'
import type { KubeObject } from '../base/domain.ts'
import { asObject, asOptionalText } from '../base/json.ts'
import type { PlatformConfig } from '../config/tenants.ts'
import type { Fact, Wanted } from '../reconcile/types.ts'
import { platformName } from './names.ts'
import { labelsFor, ownerOf, stages } from './objects.ts'
import type { TenantSpec } from './spec.ts'
import { tenantAnnotations, tenantLabels } from './words.ts'

export interface PlatformOptions {
  readonly installation: string
  /** Whether nobody could have loosened it unseen: then what bounds the tenant is corrected as fast as rights are revoked. */
  readonly isGuarded: boolean
  /** Whether a right of the tenant stands. Before the first one nobody needs to be bounded. */
  readonly hasRights: boolean
  /** The object that has the name of the Namespace. */
  readonly standing: Fact | undefined
  /** Billing in effect, where bills are sent. */
  readonly billing?: Billing | undefined
}

export function platformObjects(parent: Fact, spec: TenantSpec, options: PlatformOptions): readonly Wanted[] {
  const { name } = parent.ref
  const { installation, isGuarded, hasRights, standing } = options
  const metadata = {
    ...{ name: platformName, namespace: name },
    labels: labelsFor({ installation, of: name }),
    ownerReferences: [ownerOf(parent)],
  }
  const { quota, limits, network } = spec.platform
  // Every replica corrects what restricts, without a lease: of a new tenant all of them would make the same.
  const restricts = isGuarded && hasRights
  const bounds = [quotaObject(quota), limitRange(limits), ...(network === 'deny' ? [denyOthers] : [])]
  return [
    {
      object: namespaceOf(parent, spec, options),
      ...{ stage: stages.namespace, compare: 'exact', former: 'await' },
      restricts: isGuarded && standing !== undefined,
      adopts: fact => adoptionOf(fact) === parent.uid,
    },
    ...bounds.flatMap(object =>
      object === undefined ? [] : { object: { ...object, metadata }, ...boundStage, restricts },
    ),
  ]
}

const boundStage = { stage: stages.platform, compare: 'exact', former: 'await' } as const

/** The UID of the LNamespace that may take this Namespace over. */
const adoptionOf = ({ owned }: Fact): unknown => asObject(asObject(owned.metadata).annotations)[tenantAnnotations.adopt]

function namespaceOf(
  parent: Fact,
  { labels, platform }: TenantSpec,
  { installation, standing, billing = {} }: PlatformOptions,
): KubeObject {
  const adoption = asOptionalText(standing && adoptionOf(standing))
  const annotations = {
    // It stays as it is: it is read, and never written.
    ...(adoption !== undefined && { [tenantAnnotations.adopt]: adoption }),
    // For programs that count costs by namespace, and know nothing of LNamespaces.
    ...(!isEmpty(billing) && { [tenantAnnotations.billing]: JSON.stringify(billing) }),
  }
  return {
    ...{ apiVersion: 'v1', kind: 'Namespace' },
    metadata: {
      name: parent.ref.name,
      labels: {
        ...labels,
        ...labelsFor({ installation, of: parent.ref.name }),
        [tenantLabels.uid]: parent.uid,
        [tenantLabels.podSecurity]: platform.podSecurity,
      },
      ...(!isEmpty(annotations) && { annotations }),
      ownerReferences: [ownerOf(parent)],
    },
  }
}

const isEmpty = (values: object): boolean => Object.keys(values).length === 0

const quotaObject = (hard: PlatformConfig['quota']) =>
  isEmpty(hard) ? undefined : { apiVersion: 'v1', kind: 'ResourceQuota', spec: { hard } }

/** With the defaults that the server would fill in, so that it is found as it is wanted. */
function limitRange({ default: declared, defaultRequest, max }: PlatformConfig['limits']) {
  if ([declared, defaultRequest, max].every(isEmpty)) return undefined
  const limit = { ...max, ...declared }
  const all = { default: limit, defaultRequest: { ...limit, ...defaultRequest }, max }
  const known = Object.fromEntries(Object.entries(all).filter(([, values]) => !isEmpty(values)))
  return { apiVersion: 'v1', kind: 'LimitRange', spec: { limits: [{ type: 'Container', ...known }] } }
}

/** Pods of the namespace reach each other; a policy of an app can let others in. */
const denyOthers = {
  ...{ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' },
  spec: { podSelector: {}, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector: {} }] }] },
}
