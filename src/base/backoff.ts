/** Waiting between attempts. Pure. */

export interface Backoff {
  /** Longest wait after the first failure. */
  readonly baseMs: number
  readonly capMs: number
}

/**
 * The wait after the n-th failure in a row, counted from 1. It doubles up to the cap. The upper half of it is random,
 * so that replicas which failed together do not retry together.
 */
export function backoffMs(failures: number, { baseMs, capMs }: Backoff, random: () => number = Math.random): number {
  const full = Math.min(capMs, baseMs * 2 ** Math.max(0, failures - 1))
  return full * (0.5 + random() / 2)
}
