/**
 * When a machine is gone although the cloud does not list it as ended. Pure: the caller keeps a `Sighting` in the record of
 * the machine, so that it survives a change of keepers.
 */
import type { Instance } from './driver.ts'

/** What is known of a machine that may have vanished. */
export interface Sighting {
  /** A listing or a look has had it. */
  readonly seen: boolean
  /** Since when every answer said that there is none, by Redis' clock. */
  readonly missingSinceMs?: number
}

export const neverSeen: Sighting = { seen: false }

/** AWS' answers may be older than a change, by minutes at most. */
export const absenceMs = 600_000

/**
 * What is known after an answer of the cloud.
 * @param found the answer of `find`, or the machine in a listing
 * @param missing the answer of `missing`, asked where `find` said 'unknown'
 */
export function afterLook(before: Sighting, found: Instance | 'unknown', missing: boolean, nowMs: number): Sighting {
  if (found !== 'unknown') return { seen: true }
  // There is one, or nobody knows: a machine without our tag still runs.
  if (!missing) return { seen: before.seen }
  // A clock that went back must not keep it missing for ever.
  return { seen: before.seen, missingSinceMs: Math.min(before.missingSinceMs ?? nowMs, nowMs) }
}

/** Whether it is gone by proof: it was there, and has been missing in every answer for ten minutes. */
export function isAbsent({ seen, missingSinceMs }: Sighting, nowMs: number): boolean {
  return seen && missingSinceMs !== undefined && nowMs - missingSinceMs >= absenceMs
}
