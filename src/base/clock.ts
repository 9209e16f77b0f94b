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
  /**
   * Calls `ring` when `ms` have passed by `monotonicMs`, never before. Costs a tenth of a `sleep` that is aborted.
   * @returns a function that cancels it
   */
  after(ms: number, ring: () => void): () => void
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
        cancel()
        reject(signal?.reason)
      }
      const cancel = systemClock.after(ms, () => {
        // Listeners left on a long-lived signal would add up.
        signal?.removeEventListener('abort', abort)
        resolve()
      })
      signal?.addEventListener('abort', abort, { once: true })
    }),
  after: (ms, ring) => {
    const dueMs = performance.now() + ms
    const wake = () => {
      // Timers count whole milliseconds. Two of five ring up to one too early, when nothing is due yet.
      const leftMs = dueMs - performance.now()
      if (leftMs > 0) timer = setTimeout(wake, Math.min(leftMs, longestTimerMs))
      else ring()
    }
    let timer = setTimeout(wake, Math.min(ms, longestTimerMs))
    return () => clearTimeout(timer)
  },
}
