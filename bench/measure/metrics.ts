/** What replicas count themselves, by their `/metrics`. */

export interface Monitored {
  readonly monitoringUrl: string
}

/** Values by name with labels, as the replica prints them. */
export type Metrics = ReadonlyMap<string, number>

export async function metricsOf({ monitoringUrl }: Monitored): Promise<Metrics> {
  const text = await (await fetch(`${monitoringUrl}/metrics`)).text()
  return new Map([...text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)]))
}

const calls = /^skylab_redis_call_duration_seconds_count\{command="([^"]+)"/

/** Calls of Redis by script or command, of all these replicas, whatever the result. */
export async function callsOf(replicas: readonly Monitored[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const [key, value] of (await Promise.all(replicas.map(metricsOf))).flatMap(metrics => [...metrics])) {
    const name = calls.exec(key)?.[1]
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + value
  }
  return counts
}

const bucket = /^skylab_redis_call_duration_seconds_bucket\{le="([^"]+)",command="([^"]+)",/

/**
 * How long the calls of a script or command took at most between two readings, in milliseconds: the bound of a bucket of
 * the histogram. NaN without a call.
 */
export function longestCallMs(before: Metrics, after: Metrics, command: string): number {
  const counts = new Map<number, number>()
  for (const [key, value] of after) {
    const [, bound = '', name] = bucket.exec(key) ?? []
    if (name !== command) continue
    const seconds = bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound)
    counts.set(seconds, (counts.get(seconds) ?? 0) + value - (before.get(key) ?? 0))
  }
  const all = counts.get(Number.POSITIVE_INFINITY) ?? 0
  if (all === 0) return Number.NaN
  return 1000 * Math.min(...[...counts].filter(([, count]) => count === all).map(([seconds]) => seconds))
}
