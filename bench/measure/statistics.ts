/** Statistics of measured values. */

/** The value that a share of all values does not exceed; `share` from 0 to 1. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

/** Of an even number of values, the mean of the middle two. NaN without values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [below, above] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]]
  return below === undefined || above === undefined ? Number.NaN : (below + above) / 2
}

/** Rounded for a reader: three decimals at most. */
export const round = (value: number, places = 3): number => Number(value.toFixed(places))

/** Number of occurrences of each value, most frequent first. */
export function tally(values: Iterable<string>): Record<string, number> {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return Object.fromEntries([...counts].toSorted((a, b) => b[1] - a[1]))
}
