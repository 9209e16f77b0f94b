/** Sudo with an end: grants in the status of an LNamespace, where no tenant can write them. Pure. */
import { asObject, asObjects, asText, asTimeMs, type JsonObject } from '../base/json.ts'
import { canonical } from '../reconcile/merge.ts'
import type { Fact } from '../reconcile/types.ts'
import { longestSudoSeconds } from './rules.ts'
import type { TenantSpec } from './spec.ts'
import { userProblem } from './subjects.ts'

export interface Grant {
  readonly user: string
  readonly untilMs: number
  /** As the status has it. */
  readonly declared: JsonObject
}

/** Well-formed grants, whether or not they run. */
export function grantsIn({ owned }: Fact): readonly Grant[] {
  return asObjects(asObject(owned.status).grants).flatMap(declared => {
    const user = asText(declared.user)
    const untilMs = asTimeMs(declared.until)
    return userProblem(user) === undefined && untilMs > 0 ? [{ user, untilMs, declared }] : []
  })
}

/**
 * Those that run now. One that would last longer than any may, as after a step of a clock, does not run. Where nobody is
 * eligible, none does.
 */
export function runningGrants(fact: Fact, { eligible }: TenantSpec, nowMs: number): readonly Grant[] {
  if (eligible.length === 0) return []
  const latestMs = nowMs + longestSudoSeconds * 1000
  return grantsIn(fact).filter(({ untilMs }) => untilMs > nowMs && untilMs <= latestMs)
}

/** When the first of these ends; undefined if there is none. */
export const firstEnd = (grants: readonly Grant[]): number | undefined =>
  grants.length === 0 ? undefined : Math.min(...grants.map(({ untilMs }) => untilMs))

/** Equal for equal grants. */
export const grantsText = ({ owned }: Fact): string => canonical(asObject(owned.status).grants ?? null)
