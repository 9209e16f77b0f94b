/** What of a look may be sent now. Pure. */
import { effectName } from './failure.ts'
import type { Look } from './look.ts'
import type { Memory } from './memory.ts'
import { isRevocation, nextWrites, refKey, refOf, refOfAct } from './plan.ts'
import type { Act } from './types.ts'

/** The next writes: only revocations in a pause, and nothing that failed a moment ago. */
export function writesNow({ acts, wish }: Look, { rivals, failure }: Memory, nowMs: number): readonly Act[] {
  const writes = nextWrites(acts).filter(act => !failure?.holdsAct(act, wish, nowMs))
  return rivals.isPaused(wish, nowMs) ? writes.filter(isRevocation) : writes
}

/** Whether an act gives a right, or may give one. */
export function gives({ verdict: { objects } }: Look, act: Act): boolean {
  if (isRevocation(act) || (act.act !== 'create' && act.act !== 'change')) return false
  const key = refKey(refOfAct(act))
  return objects.some(({ object, grants }) => grants !== undefined && refKey(refOf(object)) === key)
}

/** Whether something waits only because it failed a moment ago. */
export function isHeld({ acts, wish, verdict }: Look, { failure }: Memory, nowMs: number): boolean {
  if (!failure) return false
  const { effects = [] } = verdict
  const isEffectHeld = effects.some(effect => failure.holds(effectName(effect), nowMs))
  return isEffectHeld || nextWrites(acts).some(act => failure.holdsAct(act, wish, nowMs))
}
