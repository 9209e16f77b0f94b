/** Decides when a key is looked at again after a turn, if no event comes before. Pure, but for the memory of the key. */
import { type Backoff, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { jittered } from '../base/loop.ts'
import type { Asked } from './lane.ts'
import type { Memory } from './memory.ts'
import { waitingMs } from './reader.ts'
import type { TurnEnd } from './turn-end.ts'

export interface NextLook {
  readonly ms: number
  readonly urgent?: boolean
  /** The work that is due then may be left to another replica. */
  readonly mayLeave?: boolean
  /** Only urgent events are heard until then. */
  readonly hold?: boolean
}

type NextAsked = Pick<Asked, 'urgent' | 'mayLeave'>

/** Another replica has the lease: look again when it should be done. */
const refusedMs = 400
/** It is asked for less and less often, unless the work is urgent. */
const mostRefused = 4
/** The holder of a key, if it lives, has done by then what was left to it. */
export const leftMs = 1_000
/** A look costs no request, so a step of the wall clock is noticed after this time. */
const longestMs = 60_000
const backoff: Backoff = { baseMs: 1_000, capMs: 60_000 }

const redisBackoff: Backoff = { baseMs: 1_000, capMs: 5_000 }

/**
 * Counts the failures of the key.
 * @param asked what the turn was asked for
 */
export function nextLook(end: TurnEnd, asked: NextAsked, memory: Memory, clock: Clock): NextLook | undefined {
  const nowMs = clock.monotonicMs()
  count(end, memory, nowMs)
  const looksAfter = lookAfter(end, asked, memory, nowMs)
  const looks: NextLook[] = [memory.rivals.leftMs(nowMs), memory.statusAtMs - nowMs, memory.restrictAtMs - nowMs]
    .filter(ms => ms > 0)
    .map(ms => ({ ms }))
  if (end.dueMs !== undefined) {
    looks.push({ ms: Math.min(longestMs, Math.max(0, end.dueMs - clock.wallMs())), urgent: true })
  }
  if (memory.waitsSinceMs !== undefined) looks.push({ ms: Math.max(0, memory.waitsSinceMs + waitingMs - nowMs) })
  if (end.isBehind) looks.push({ ms: 0, urgent: asked.urgent })
  return [...looks, ...looksAfter].sort((a, b) => a.ms - b.ms)[0]
}

function count({ result }: TurnEnd, memory: Memory, nowMs: number): void {
  // Redis was not asked in this turn.
  if (result === 'due' && nowMs < memory.dueAtMs) return
  if (result === 'deferred' || result === 'held' || result === 'refused' || result === 'cut') return
  const isFailure = result === 'failed' || result === 'due' || result === 'over'
  memory.failures = isFailure ? memory.failures + 1 : 0
  if (result !== 'failed') memory.failure = undefined
  if (result === 'due') memory.dueAtMs = nowMs + backoffMs(memory.failures, redisBackoff)
}

function lookAfter({ result, error }: TurnEnd, asked: NextAsked, memory: Memory, nowMs: number): NextLook[] {
  const { urgent } = asked
  const failedMs = askedMs(error) + backoffMs(memory.failures, backoff)
  switch (result) {
    case 'refused':
      return [
        {
          ms: jittered(refusedMs * timesOf(memory, urgent), 0.25),
          urgent,
          mayLeave: asked.mayLeave && memory.refusals <= 1,
        },
      ]
    case 'deferred':
      return [{ ms: leftMs }]
    case 'cut':
      return [{ ms: 0, urgent: true }]
    // The first time it may be a process that was stopped.
    case 'over':
      return [{ ms: memory.failures === 1 ? 0 : failedMs, urgent }]
    case 'failed':
      if (memory.failure) memory.failure.untilMs = nowMs + failedMs
      return [{ ms: failedMs, hold: true }]
    case 'held':
      return [{ ms: Math.max(0, (memory.failure?.untilMs ?? nowMs) - nowMs), hold: true }]
    case 'due':
      return [{ ms: memory.dueAtMs - nowMs }]
    default:
      return []
  }
}

const timesOf = ({ refusals }: Memory, urgent: boolean): number =>
  urgent ? 1 : Math.min(Math.max(1, refusals), mostRefused)

function askedMs(error: unknown): number {
  const { afterMs } = (error ?? {}) as { readonly afterMs?: unknown }
  return typeof afterMs === 'number' ? Math.min(afterMs, longestMs) : 0
}
