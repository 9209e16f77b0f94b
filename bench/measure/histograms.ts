/** Histograms of replicas between two readings of their metrics. */
import type { Metrics } from './metrics.ts'

/** Counts by upper bound, each with all that are lower. */
export type Histogram = ReadonlyMap<number, number>

/** The histogram of this name, of all these replicas; only series whose labels are among those of the text. */
export function histogramBetween(
  before: readonly Metrics[],
  after: readonly Metrics[],
  name: string,
  labels = '',
): Histogram {
  const counts = new Map<number, number>()
  for (const [index, metrics] of after.entries()) {
    for (const [key, value] of metrics) {
      if (!key.startsWith(`${name}_bucket{`) || !key.includes(labels)) continue
      const bound = /\ble="([^"]+)"/.exec(key)![1]!
      const seconds = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
      counts.set(seconds, (counts.get(seconds) ?? 0) + value - (before[index]?.get(key) ?? 0))
    }
  }
  return counts
}

/** The lowest bound that a share of all values does not exceed, from 0 to 1. NaN without values. */
export function boundOf(histogram: Histogram, share: number): number {
  const all = histogram.get(Number.POSITIVE_INFINITY) ?? 0
  if (all === 0) return Number.NaN
  return Math.min(...[...histogram].filter(([, count]) => count >= share * all).map(([seconds]) => seconds))
}
