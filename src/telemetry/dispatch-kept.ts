/** Metrics of what Redis holds of containers, computed at each scrape. */
import { Gauge, type Registry } from 'prom-client'

export interface KeptCounts {
  readonly ended: number
  readonly keptBytes: number
  readonly activeBytes: number
}

/** @param count undefined if the data are not compared yet */
export function createKeptGauges(registry: Registry, count: () => Promise<KeptCounts | undefined>): void {
  const add = (name: string, help: string, read: (counts: KeptCounts) => number) =>
    new Gauge({
      ...{ name, help: `${help}; every replica reports the same value` },
      registers: [registry],
      async collect() {
        const counts = await count().catch(() => undefined)
        if (counts) this.set(read(counts))
        else this.remove()
      },
    })
  add(
    'skylab_dispatch_kept_bytes',
    'Bytes that count for dispatch.ended.bytes: outputs of all containers, and records of ended ones',
    ({ keptBytes }) => keptBytes,
  )
  add(
    'skylab_dispatch_active_bytes',
    'Bytes that count for dispatch.active.bytes: records of containers that wait or run',
    ({ activeBytes }) => activeBytes,
  )
  add('skylab_dispatch_kept_containers', 'Ended containers that are kept', ({ ended }) => ended)
}
