/** What the replicas of a fleet serve at `/metrics`. */
import { Registry } from 'prom-client'
import { createDispatchGauges } from '../../../src/telemetry/dispatch-gauges.ts'
import { createDispatchMetrics } from '../../../src/telemetry/dispatch-metrics.ts'

type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

/** Names of all metrics of containers and machines, with those of their samples. */
export function dispatchMetrics(): readonly { readonly name: string; readonly samples: readonly string[] }[] {
  const registry = new Registry()
  createDispatchMetrics(registry)
  createDispatchGauges(registry, { census: async () => undefined, owned: () => 0, spoolLagSeconds: () => 0 })
  return registry.getMetricsAsArray().map(({ name, ...metric }) => {
    const { type } = metric as unknown as { type: string }
    const parts = type === 'histogram' || type === 'summary' ? [`${name}_sum`, `${name}_count`] : [name]
    return { name, samples: parts }
  })
}

export class Samples {
  readonly #all: readonly (readonly Sample[])[]

  private constructor(all: readonly (readonly Sample[])[]) {
    this.#all = all
  }

  static async of(replicas: readonly { readonly monitoringUrl: string }[]): Promise<Samples> {
    const read = async ({ monitoringUrl }: { readonly monitoringUrl: string }) =>
      parse(await (await fetch(`${monitoringUrl}/metrics`)).text())
    return new Samples(await Promise.all(replicas.map(read)))
  }

  /** Of each replica that has it: the values of all samples with these labels together. */
  each(name: string, labels: Labels = {}): readonly number[] {
    const fits = (sample: Sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value)
    return this.#all.flatMap(samples => {
      const found = samples.filter(fits)
      return found.length === 0 ? [] : [found.reduce((sum, { value }) => sum + value, 0)]
    })
  }

  sum(name: string, labels?: Labels): number {
    return this.each(name, labels).reduce((sum, value) => sum + value, 0)
  }
}

function parse(text: string): readonly Sample[] {
  return text.split('\n').flatMap(line => {
    const [, name, inner = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined) return []
    const labels = [...inner.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, of]) => [label!, of!] as const)
    return [{ name, labels: Object.fromEntries(labels), value: Number(value!.replace('Inf', 'Infinity')) }]
  })
}
