/** Sudo with an end: grants in the status of an LNamespace, where no tenant can write them. Pure. */
import { canonical } from '../base/canonical.ts'
import { asObject, asObjects, asText, asTimeMs, type JsonObject } from '../base/json.ts'
import type { Fact } from '../reconcile/types.ts'
import { longestSudoSeconds } from './rules.ts'
import type { Subject, TenantSpec } from './spec.ts'
import { userProblem } from './subjects.ts'

/** Of one tenant. */
export const mostGrants = 100
/** Characters of a reason. */
export const longestReason = 512

export interface Grant {
  readonly id: string
  readonly user: string
  readonly untilMs: number
  readonly reason: string
  /** As the status has it. */
  readonly declared: JsonObject
}

/** Well-formed grants, whether or not they run. */
export function grantsIn({ owned }: Fact): readonly Grant[] {
  return asObjects(asObject(owned.status).grants).flatMap(declared => {
    const user = asText(declared.user)
    const untilMs = asTimeMs(declared.until)
    if (userProblem(user) !== undefined || untilMs <= 0) return []
    return [{ id: asText(declared.id), user, untilMs, reason: asText(declared.reason), declared }]
  })
}

/**
 * The grants that run now. A grant does not run when its end is further away than any may be, as after a step of a clock. It does
 * not run either when its user is not eligible any more.
 */
export function runningGrants(fact: Fact, { eligible }: TenantSpec, nowMs: number): readonly Grant[] {
  if (eligible.length === 0) return []
  const latestMs = nowMs + longestSudoSeconds * 1000
  return grantsIn(fact).filter(grant => {
    const { untilMs } = grant
    return untilMs > nowMs && untilMs <= latestMs && isStillEligible(grant, eligible)
  })
}

/** Groups of users are seen at their request alone: the grant keeps the one by which they were eligible. */
export function isStillEligible({ user, declared }: Grant, eligible: readonly Subject[]): boolean {
  const by = asObject(declared.as)
  return eligible.some(({ kind, name }) =>
    kind === 'User' ? name === user : kind === 'Group' && by.kind === kind && by.name === name,
  )
}

export interface GrantWish {
  readonly id: string
  readonly user: string
  readonly until: string
  readonly reason: string
  /** The entry of `spec.sudo.eligible` that permits it. */
  readonly as: Subject
}

/** The status with one more grant. It takes the place of what else the user has. */
export function withGrant(fact: Fact, spec: TenantSpec, { as, ...wish }: GrantWish, nowMs: number): JsonObject[] {
  const others = runningGrants(fact, spec, nowMs).filter(({ user }) => user !== wish.user)
  return [...others.map(({ declared }) => declared), { ...wish, as: { kind: as.kind, name: as.name } }]
}

/** The list without the grants of a user; undefined if he has none that is not over. */
export function withoutGrantsOf(user: string, fact: Fact, nowMs: number): JsonObject[] | undefined {
  const living = grantsIn(fact).filter(({ untilMs }) => untilMs > nowMs)
  const others = living.filter(grant => grant.user !== user)
  return others.length === living.length ? undefined : others.map(({ declared }) => declared)
}

/** When the first of these ends; undefined if there is none. */
export const firstEnd = (grants: readonly Grant[]): number | undefined =>
  grants.length === 0 ? undefined : Math.min(...grants.map(({ untilMs }) => untilMs))

/** Equal for equal grants. */
export const grantsText = ({ owned }: Fact): string => canonical(asObject(owned.status).grants ?? null)
