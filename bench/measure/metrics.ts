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
