/** Selects the acts of a look that may be sent now. Pure, but for the clock. */
import type { Clock } from '../base/clock.ts'
import { effectName } from './failure.ts'
import { type Look, lookAt } from './look.ts'
import type { Memory } from './memory.ts'
import { isRevocation, nextWrites, refOfAct } from './plan.ts'
import type { Act, Effect, Kind, OwnedKind } from './types.ts'

/** The next writes: only revocations in a pause, and nothing that failed a moment ago. */
export function writesNow({ acts, wish, verdict }: Look, memory: Memory, nowMs: number): readonly Act[] {
  const { rivals, failure, restrictAtMs } = memory
  const isPaused = rivals.isPaused(wish, nowMs)
  return nextWrites(acts).filter(act => {
    if (failure?.holdsAct(act, wish, nowMs)) return false
    if (isPaused && restricts(act) && nowMs < restrictAtMs) return false
    return isRevocation(act) || (!isPaused && verdict.onlyRevocations === undefined)
  })
}

/** Whether something may be taken away now. False if the kind has a defect, which the next turn tells. */
export function mustRevoke<World>(kind: Kind<World>, key: string, memory: Memory, clock: Clock): boolean {
  try {
    const look = lookAt(kind, key, clock.wallMs())
    return look !== undefined && writesNow(look, memory, clock.monotonicMs()).some(isRevocation)
  } catch {
    return false
  }
}

/** None while nothing may be given. */
export const effectsOf = ({ verdict }: Look): readonly Effect[] =>
  verdict.onlyRevocations === undefined ? (verdict.effects ?? []) : []

export const restricts = (act: Act): boolean => (act.act === 'create' || act.act === 'change') && act.restricts === true

/** Whether an act gives a right, or may give one. */
export function gives(act: Act, sources: readonly OwnedKind[]): boolean {
  if (isRevocation(act) || (act.act !== 'create' && act.act !== 'change')) return false
  const { apiVersion, kind } = refOfAct(act)
  return sources.some(
    ({ watch, grants = [] }) => grants.length > 0 && watch.apiVersion === apiVersion && watch.kind === kind,
  )
}

/** Whether something waits only because it failed a moment ago. */
export function isHeld(look: Look, { failure }: Memory, nowMs: number): boolean {
  if (!failure) return false
  const isEffectHeld = effectsOf(look).some(effect => failure.holds(effectName(effect), nowMs))
  return isEffectHeld || nextWrites(look.acts).some(act => failure.holdsAct(act, look.wish, nowMs))
}

/** The same act, whatever the version of the object is by now; undefined for an act that must not be forced. */
export function forced(act: Act): Act | undefined {
  if (act.act === 'remove') return { ...act, anyVersion: true }
  if (act.act !== 'change' || !act.shrinks) return undefined
  return { act: 'remove', stage: act.stage, fact: act.fact, why: 'unwanted', anyVersion: true }
}
