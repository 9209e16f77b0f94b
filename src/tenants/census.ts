/** Numbers of tenants, for metrics. Pure. */

import { billedType } from './billing.ts'
import { boundUsers } from './effective.ts'
import { runningGrants } from './grants.ts'
import { checked } from './rules.ts'
import { type ConditionType, conditionTypes, isTrue } from './status.ts'
import type { TenantWorld } from './world.ts'

export interface TenantCount {
  readonly conditions: Readonly<Record<ConditionType | 'Exists', number>> & { readonly Billed?: number }
  readonly grants: number
  readonly overdue: number
}

export function countTenants(world: TenantWorld, nowMs: number): TenantCount {
  const types: readonly (ConditionType | typeof billedType)[] = world.billing
    ? [...conditionTypes, billedType]
    : conditionTypes
  const conditions = {
    Exists: 0,
    ...Object.fromEntries(types.map(type => [type, 0])),
  } as TenantCount['conditions']
  const counts: Record<string, number> = { ...conditions }
  let [grants, overdue] = [0, 0]
  for (const fact of world.sights.lnamespaces.values()) {
    counts.Exists! += 1
    for (const type of types) if (isTrue(fact, type)) counts[type]! += 1
    const check = checked(fact, world.settings)
    const running = 'spec' in check ? runningGrants(fact, check.spec, nowMs) : []
    grants += running.length
    const entitled = new Set(['spec' in check ? check.spec.sudoers : [], running.map(({ user }) => user)].flat())
    overdue += boundUsers(fact, world).filter(user => !entitled.has(user)).length
  }
  return { conditions: counts as TenantCount['conditions'], grants, overdue }
}
