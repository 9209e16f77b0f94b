/** Learns about the cloud from the outcome of a creation. Pure. */
import type { Throttle } from './types.ts'

/** Errors as drivers name them. */
export type CreateOutcome =
  | { readonly kind: 'created'; readonly type: string }
  | { readonly kind: 'RateLimited'; readonly untilMs: number }
  /** `count`: machines of the group at that time. */
  | { readonly kind: 'AtQuota'; readonly group: string; readonly count: number }
  | { readonly kind: 'NoCapacity'; readonly type: string }

export const calm: Throttle = { createAfterMs: 0, hurry: false, quotas: new Map(), capacity: new Map() }

const minuteMs = 60_000
const longestPauseMs = 16 * minuteMs

/** A type without capacity pauses for a minute, and twice as long each further time. */
export function afterCreate(throttle: Throttle, outcome: CreateOutcome, nowMs: number): Throttle {
  switch (outcome.kind) {
    case 'created':
      // Most teach nothing: then nothing is written.
      if (!throttle.hurry && !throttle.capacity.has(outcome.type)) return throttle
      return { ...throttle, hurry: false, capacity: without(throttle.capacity, outcome.type) }
    case 'RateLimited':
      return { ...throttle, hurry: true, createAfterMs: Math.max(throttle.createAfterMs, outcome.untilMs) }
    case 'AtQuota': {
      const { group, count } = outcome
      return { ...throttle, hurry: true, quotas: adding(throttle.quotas, group, { count, untilMs: nowMs + minuteMs }) }
    }
    case 'NoCapacity': {
      const failures = (throttle.capacity.get(outcome.type)?.failures ?? 0) + 1
      const pauseMs = Math.min(longestPauseMs, minuteMs * 2 ** Math.min(10, failures - 1))
      const pause = { untilMs: nowMs + pauseMs, failures }
      return { ...throttle, capacity: adding(throttle.capacity, outcome.type, pause) }
    }
  }
}

/**
 * How many machines a group may have. A quota holds until the group has fewer than at the error; a group without machines
 * tries again after a minute, since nothing of ours can make room.
 */
export function quotaOf({ quotas }: Throttle, group: string, count: number, nowMs: number): number {
  const quota = quotas.get(group)
  if (!quota || (count === 0 && nowMs >= quota.untilMs)) return Number.POSITIVE_INFINITY
  return quota.count
}

const adding = <V>(map: ReadonlyMap<string, V>, key: string, value: V) => new Map([...map, [key, value]])
const without = <V>(map: ReadonlyMap<string, V>, key: string) => new Map([...map].filter(([name]) => name !== key))
