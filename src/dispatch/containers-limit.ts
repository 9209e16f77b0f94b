/** How many containers run at once: less after an overload, and slowly more again, as in Arvados. Pure. */

export interface ContainersLimit {
  readonly most: number
  /** Redis' clock at the last overload; 0 without one. */
  readonly overloadedMs: number
}

/** After so long without an overload the limit grows. */
const quietMs = 60_000

/** @param estimate `InitialQuotaEstimate`; 0 is no limit */
export const firstLimit = (estimate: number): ContainersLimit => ({
  most: estimate > 0 ? estimate : Number.POSITIVE_INFINITY,
  overloadedMs: 0,
})

/** Just below the number at which we, or what we need, could not keep up. */
export const afterOverload = (running: number, nowMs: number): ContainersLimit => ({
  most: Math.max(1, running - 1),
  overloadedMs: nowMs,
})

/** In quiet times there is always room for a tenth more than runs, and for one. */
export function grown(limit: ContainersLimit, running: number, nowMs: number): ContainersLimit {
  // A step of Redis' clock must not keep the limit for longer.
  const sinceMs = Math.abs(nowMs - limit.overloadedMs)
  if (sinceMs < quietMs) return limit
  const most = Math.floor(running * 1.1) + 1
  return most > limit.most ? { ...limit, most } : limit
}
