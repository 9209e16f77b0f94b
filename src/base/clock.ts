/** Time, passed in: no other code asks the system for the time, or waits. */
export interface Clock {
  /** Milliseconds since the epoch. May step; never used to judge a lease. */
  wallMs(): number
  /** Milliseconds from an arbitrary start. Never steps. */
  monotonicMs(): number
  /**
   * Resolves when `ms` have passed by `monotonicMs`, never before; rejects with the signal's reason when it is aborted
   * first.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/**
 * The reason of an abort that ends a wait whose result is not needed any more. Made once: an abort without a reason
 * creates an error with a stack, which takes 15 µs, and a lab needs a hundred of them.
 */
export const notNeeded = new Error('no longer waited for')

/** The longest delay of the system's timers; they run a longer one at once. */
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
        // Timers count whole milliseconds. Two of five ring up to one too early, when nothing is due yet.
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
