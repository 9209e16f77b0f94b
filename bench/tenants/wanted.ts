/** What the replicas would write for a tenant, by their own functions: the loop sends the same. */
import type { KubeObject } from '../../src/base/domain.ts'
import { platformObjects } from '../../src/tenants/platform.ts'
import { selfRights, tenantRights } from '../../src/tenants/rights.ts'
import { checked } from '../../src/tenants/rules.ts'
import { conditionTypes } from '../../src/tenants/status.ts'
import { projectionOf } from '../../src/tenants/watches.ts'
import { tenantParent } from '../../src/tenants/words.ts'
import type { Site } from './site.ts'

/** In the order of their stages. @param parent the LNamespace as the server keeps it */
export function wantedOf(parent: KubeObject, { settings }: Pick<Site, 'settings'>): readonly KubeObject[] {
  const { installation } = settings
  const fact = projectionOf('lnamespaces', settings.tenants.labelPrefixes)({ ...parent, ...tenantParent })
  const check = checked(fact, settings)
  if ('refusal' in check) throw new Error(check.refusal.message)
  const { spec } = check
  return [
    ...platformObjects(fact, spec, { installation, isGuarded: true, hasRights: false, standing: undefined }),
    ...tenantRights(fact, spec, [], installation),
    ...spec.sudoers.flatMap(sudoer => selfRights(sudoer, [fact], installation)),
  ]
    .toSorted((a, b) => a.stage - b.stage)
    .map(({ object }) => object)
}

/** As large as the replicas' own. */
export const statusOf = ({ metadata }: KubeObject): object => ({
  observedGeneration: 1,
  namespaceUID: metadata.uid,
  sudoGroup: `${metadata.name}-sudoers`,
  counts: { users: 1, managers: 1, sudoers: 1 },
  conditions: conditionTypes.map(type => ({
    ...{ type, status: 'True', reason: 'Ready', message: '', observedGeneration: 1 },
    lastTransitionTime: `${new Date().toISOString().slice(0, 19)}Z`,
  })),
})
