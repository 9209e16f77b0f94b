/** Limits for what others send: a process that was halted meanwhile has not read it when its timers ring. */
import type { Clock } from './clock.ts'

/** The least that lets what has come be read before the second ring. */
const readingMs = 1
/** Part of a limit that is waited for again, at most. */
const mostAgain = 0.25

/**
 * Calls `ring` after `ms`, and after a look at what has come meanwhile. A timer that rings late shows a halt: a debugger, a
 * processor that others use, a suspended machine. Those who send may have been halted too, so it waits as long again as it was
 * late, up to a quarter of `ms`.
 * @returns a function that cancels it
 */
export function afterReading(clock: Clock, ms: number, ring: () => void): () => void {
  const dueMs = clock.monotonicMs() + ms
  let cancel = clock.after(ms, () => {
    const lateMs = clock.monotonicMs() - dueMs
    cancel = clock.after(Math.max(readingMs, Math.min(lateMs, ms * mostAgain)), ring)
  })
  return () => cancel()
}
