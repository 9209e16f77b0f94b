/** The cost of a container's run, by the price of its machine. Pure. */
import type { ContainerState } from './container.ts'

export interface CostedRun {
  /** 0 for what never was. */
  readonly startedMs: number
  readonly finishedMs: number
  readonly pricePerHour: number
  readonly state: ContainerState
}

/** The cost of its present or last run. */
export function costOf({ startedMs, finishedMs, pricePerHour, state }: CostedRun, nowMs: number): number {
  if (startedMs === 0) return 0
  const untilMs = finishedMs || (state === 'Running' ? nowMs : startedMs)
  // No more digits than a price has a meaning for.
  return Math.round(((Math.max(0, untilMs - startedMs) / 3_600_000) * pricePerHour + Number.EPSILON) * 1e6) / 1e6
}
