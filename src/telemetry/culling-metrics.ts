/** The metrics of Kubeflow's culler, by its names: which notebook was stopped, how often, and when last. */
import { Counter, Gauge, type Registry } from 'prom-client'

interface Culled {
  readonly namespace: string
  readonly name: string
}

/** Of each metric. Names are those of people's objects: without a bound a scrape would grow for ever. */
const mostSeries = 1000

export class CullingMetrics {
  readonly #total: Counter<'namespace' | 'name'>
  readonly #last: Gauge<'namespace' | 'name'>
  readonly #most: number
  /** By namespace and name, the one culled longest ago first. */
  readonly #known = new Map<string, Culled>()

  constructor(registry: Registry, most = mostSeries) {
    const labelNames = ['namespace', 'name'] as const
    const registers = [registry]
    this.#most = most
    this.#total = new Counter<'namespace' | 'name'>({
      name: 'notebook_culling_total',
      help: `Notebooks that this replica has stopped, by namespace and name, of the last ${mostSeries} that it stopped; the name is Kubeflow’s`,
      ...{ labelNames, registers },
    })
    this.#last = new Gauge<'namespace' | 'name'>({
      name: 'last_notebook_culling_timestamp_seconds',
      help: 'When this replica last stopped a notebook, by namespace and name, of as many',
      ...{ labelNames, registers },
    })
  }

  culled({ namespace, name }: Culled, atMs: number): void {
    const key = `${namespace}/${name}`
    this.#known.delete(key)
    this.#known.set(key, { namespace, name })
    this.#total.inc({ namespace, name })
    this.#last.set({ namespace, name }, atMs / 1000)
    const [oldest] = this.#known
    if (this.#known.size <= this.#most || !oldest) return
    const [first, labels] = oldest
    this.#known.delete(first)
    this.#total.remove(labels)
    this.#last.remove(labels)
  }
}
