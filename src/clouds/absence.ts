/** When a machine is gone although the cloud does not list it as ended. Pure: its record says since when it is missing. */

/** AWS' answers may be older than a change, by minutes at most. */
export const absenceMs = 600_000

/**
 * Whether a machine that was there is gone by proof: every answer for ten minutes said that there is none.
 * @param missingSinceMs 0 after an answer that showed it
 * @param nowMs by the same clock
 */
export function isAbsent(missingSinceMs: number, nowMs: number): boolean {
  return missingSinceMs > 0 && nowMs - missingSinceMs >= absenceMs
}
