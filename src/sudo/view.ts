/** An LNamespace as REST shows it. Pure. */
import { asObject, asObjects, asText } from '../base/json.ts'
import type { Fact } from '../reconcile/types.ts'
import { hasEffectiveSudo } from '../tenants/effective.ts'
import { type Grant, runningGrants } from '../tenants/grants.ts'
import { sudoGroup } from '../tenants/names.ts'
import { type Roles, rolesOf, type Somebody } from '../tenants/roles.ts'
import { generationOf, nameOf, type Subject } from '../tenants/spec.ts'
import { admitted, type TenantWorld } from '../tenants/world.ts'

/** The role of somebody in a tenant. */
export type Role = 'user' | 'manager' | 'sudoer' | 'eligible'

/** The part that everybody sees. */
export interface TenantSummary {
  readonly name: string
  readonly ready: boolean
  /** A word for programs; that of the condition `Ready`. */
  readonly reason: string
  /** Those of the caller. */
  readonly roles: readonly Role[]
}

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export interface GrantView {
  readonly id: string
  readonly user: string
  readonly until: string
  readonly reason: string
  /** Whether the API server lets him use it. */
  readonly effective: boolean
}

export interface TenantDetail extends TenantSummary {
  readonly generation: number
  readonly sudoGroup: string
  readonly maxSeconds: number
  readonly conditions: readonly Condition[]
  /** The caller's grants; all of them for a caller with a role. */
  readonly grants: readonly GrantView[]
  /** Only for a caller with a role. */
  readonly people?: {
    readonly users: readonly Subject[]
    readonly managers: readonly Subject[]
    readonly sudoers: readonly Subject[]
    readonly eligible: readonly Subject[]
  }
}

export function summaryOf(
  fact: Fact,
  somebody: Somebody | undefined,
  { settings }: TenantWorld,
  nowMs: number,
): TenantSummary {
  const ready = conditionsOf(fact).find(({ type }) => type === 'Ready')
  return {
    name: nameOf(fact),
    ready: ready?.status === 'True' && !fact.deleting,
    reason: fact.deleting ? 'Deleting' : (ready?.reason ?? 'Waiting'),
    roles: somebody ? namesOf(rolesOf(fact, somebody, settings, nowMs)) : [],
  }
}

const namesOf = ({ isUser, isManager, isSudoer, isEligible }: Roles): readonly Role[] => [
  ...(isUser ? (['user'] as const) : []),
  ...(isManager ? (['manager'] as const) : []),
  ...(isSudoer ? (['sudoer'] as const) : []),
  ...(isEligible ? (['eligible'] as const) : []),
]

export function detailOf(fact: Fact, somebody: Somebody | undefined, world: TenantWorld, nowMs: number): TenantDetail {
  const summary = summaryOf(fact, somebody, world, nowMs)
  const admission = admitted(fact, world)
  const spec = 'spec' in admission ? admission.spec : undefined
  const isInside = summary.roles.length > 0
  const running = spec ? runningGrants(fact, spec, nowMs) : []
  const shown = running.filter(({ user }) => isInside || user === somebody?.username)
  return {
    ...summary,
    generation: generationOf(fact),
    sudoGroup: sudoGroup(nameOf(fact)),
    maxSeconds: spec?.maxSeconds ?? 0,
    conditions: conditionsOf(fact),
    grants: shown.map(grant => grantView(grant, fact, world)),
    ...(spec &&
      isInside && {
        people: {
          ...{ users: spec.users, managers: spec.managers, eligible: spec.eligible },
          sudoers: spec.sudoers.map(name => ({ kind: 'User', name }) as const),
        },
      }),
  }
}

export function grantView({ id, user, untilMs, reason }: Grant, fact: Fact, world: TenantWorld): GrantView {
  const until = new Date(untilMs).toISOString()
  return { id, user, until, reason, effective: hasEffectiveSudo(user, fact, world) }
}

export const conditionsOf = ({ owned }: Fact): readonly Condition[] =>
  asObjects(asObject(owned.status).conditions).map(({ type, status, reason, message }) => ({
    ...{ type: asText(type), status: asText(status), reason: asText(reason), message: asText(message) },
  }))
