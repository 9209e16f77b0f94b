/** Time, passed in: nothing else in this code asks the system what time it is, or waits. */
export interface Clock {
  /** Milliseconds since the epoch. May step; never used to judge a lease. */
  wallMs(): number
  /** Milliseconds from an arbitrary start. Never steps. */
  monotonicMs(): number
  /** Resolves when `ms` have passed by `monotonicMs`, never before; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * Why a wait is cut short whose end nobody needs any more. Made once: an abort without a reason makes an error of its own
 * with a stack, 15 µs each, and a lab takes a hundred of them.
 */
export const notNeeded = new Error('no longer waited for')

/** What the system's timers take at most; a longer one would ring at once. */
const longestTimerMs = 2 ** 31 - 1

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason)
      const abort = () => {
        clearTimeout(timer)
        reject(signal?.reason)
      }
      const dueMs = performance.now() + ms
      const ring = () => {
        // Timers count whole milliseconds: two of five rang up to one too early, and who looks then finds nothing due.
        const leftMs = dueMs - performance.now()
        if (leftMs > 0) {
          timer = setTimeout(ring, Math.min(leftMs, longestTimerMs))
          return
        }
        // Listeners left on a long-lived signal would add up.
        signal?.removeEventListener('abort', abort)
        resolve()
      }
      let timer = setTimeout(ring, Math.min(ms, longestTimerMs))
      signal?.addEventListener('abort', abort, { once: true })
    }),
}
