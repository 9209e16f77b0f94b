/** Makes the report on an LNamespace, from a replica's view. Pure. */
import { asNumber, asObject, asObjects, asText } from '../base/json.ts'
import type { Fact } from '../reconcile/types.ts'
import type { Tell, TellGrant } from '../store/tenants.ts'
import { hasEffectiveSudo } from '../tenants/effective.ts'
import { type Grant, grantsIn, isStillEligible } from '../tenants/grants.ts'
import { checked } from '../tenants/rules.ts'
import { generationOf, nameOf, type TenantSettings } from '../tenants/spec.ts'
import { hasSudo, type TenantWorld } from '../tenants/world.ts'

/** Why sudo with an end has ended. */
export type Why = 'until' | 'released' | 'replaced' | 'ineligible'

/** A grant that has left the status. */
export interface Ended {
  readonly grant: Grant
  readonly why: Why
}

/** Clocks of replicas differ, and a watch is a moment late. */
const toleranceMs = 1_000

/** The grants that an LNamespace has lost between two versions. */
export function endedBetween(before: Fact, now: Fact, settings: TenantSettings, nowMs: number): readonly Ended[] {
  if (before.uid !== now.uid) return []
  const left = grantsIn(now)
  const ids = new Set(left.map(({ id }) => id))
  const check = checked(now, settings)
  const why = (grant: Grant): Why => {
    if (grant.untilMs <= nowMs + toleranceMs) return 'until'
    if (left.some(({ user }) => user === grant.user)) return 'replaced'
    const isEligible = 'spec' in check && isStillEligible(grant, check.spec.eligible)
    return isEligible ? 'released' : 'ineligible'
  }
  return grantsIn(before)
    .filter(({ id }) => !ids.has(id))
    .map(grant => ({ grant, why: why(grant) }))
}

/**
 * The next message to Redis about an LNamespace.
 * @param ended grants that have left the status and were not reported yet
 */
export function tellOf(fact: Fact, ended: readonly Ended[], world: TenantWorld, nowMs: number): Tell {
  return {
    ...{ name: nameOf(fact), uid: fact.uid, generation: generationOf(fact), version: fact.resourceVersion },
    ready: readyData(fact),
    grants: [
      ...grantsIn(fact).map(grant => tellGrant(grant, hasEffectiveSudo(grant.user, fact, world))),
      ...ended.map(({ grant, why }) => tellGrant(grant, false, holdsOn(grant, fact, world, nowMs) ? undefined : why)),
    ],
  }
}

/** Whether a right still exists that nothing gives any more: it goes in a moment. */
export function holdsOn({ user }: Grant, fact: Fact, world: TenantWorld, nowMs: number): boolean {
  const check = checked(fact, world.settings)
  const isGiven = 'spec' in check && hasSudo(user, fact, check.spec, nowMs)
  return !isGiven && hasEffectiveSudo(user, fact, world)
}

function tellGrant({ id, user, untilMs, reason }: Grant, isEffective: boolean, why?: Why): TellGrant {
  const until = new Date(untilMs).toISOString()
  return {
    ...{ id, user, untilMs },
    events: [
      [1, 'granted', JSON.stringify({ id, user, until, reason })],
      ...(isEffective ? [[2, 'effective', JSON.stringify({ id, user, until })] as const] : []),
      ...(why === undefined ? [] : [[3, 'ended', JSON.stringify({ id, user, why })] as const]),
    ],
  }
}

/** Only what is true of the present generation. */
function readyData(fact: Fact): string {
  const ready = asObjects(asObject(fact.owned.status).conditions).find(({ type }) => type === 'Ready')
  if (!ready || asNumber(ready.observedGeneration) !== generationOf(fact)) return ''
  const { type, status, reason, message, observedGeneration: generation } = ready
  return JSON.stringify({ type, status, reason: asText(reason), message: asText(message), generation })
}
