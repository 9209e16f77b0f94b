/** k8s/monitoring uses only metrics that replicas serve. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { servedMetrics } from '../../test/kit/telemetry/served-metrics.ts'
import { collectProcessMetrics } from './metrics.ts'

const read = (name: string) => readFileSync(new URL(`../../k8s/monitoring/${name}`, import.meta.url), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}
const rules: readonly Rule[] = parse(read('prometheus-rule.yaml')).spec.groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
)
const panels: readonly { title: string; targets: { expr: string }[] }[] = JSON.parse(read('dashboard.json')).panels

/** Names of all series in use, with their labels. */
function servedSeries(): Map<string, readonly string[]> {
  const registry = servedMetrics()
  collectProcessMetrics(registry)
  return new Map(
    registry.getMetricsAsArray().flatMap(metric => {
      const labels = (metric as unknown as { labelNames: readonly string[] }).labelNames
      const suffixes = metric.constructor.name === 'Histogram' ? ['_bucket', '_sum', '_count'] : ['']
      return suffixes.map(suffix => [`${metric.name}${suffix}`, labels] as const)
    }),
  )
}

const series = servedSeries()
const asked = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
]

describe.each(asked)('%s', (_, expr) => {
  it('uses existing series and labels', () => {
    const names = [...expr.matchAll(/\b(?:skylab|process|nodejs)_\w+/g)].map(([name]) => name)
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) expect([...series.keys()]).toContain(name)
    for (const [, name, selector] of expr.matchAll(/\b(skylab_\w+)\{([^}]*)\}/g)) {
      for (const [, label] of selector!.matchAll(/(\w+)\s*[!=]~?"/g)) expect(series.get(name!)).toContain(label)
    }
  })
})

it('every alert has an explanation, and links to it', () => {
  const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter(line => line.startsWith('| <a id="skylab'))
  for (const { alert, annotations } of rules) {
    const anchor = alert.toLowerCase()
    expect(annotations.summary).not.toBe('')
    expect(annotations.runbook_url).toBe(`docs/operations.md#${anchor}`)
    expect(rows.filter(row => row.includes(`<a id="${anchor}"></a>\`${alert}\``))).toHaveLength(1)
  }
})

it('the alert on missing replicas has the number of k8s/base', () => {
  const base = readFileSync(new URL('../../k8s/base/deployment.yaml', import.meta.url), 'utf8')
  const { expr } = rules.find(({ alert }) => alert === 'SkylabReplicasMissing')!
  expect(expr).toBe(`count by (namespace) (skylab_build_info) < ${parse(base).spec.replicas}`)
})

it('the PodMonitor selects the replicas, at a port that Prometheus may reach', () => {
  const base = (name: string) => readFileSync(new URL(`../../k8s/base/${name}.yaml`, import.meta.url), 'utf8')
  const { template } = parse(base('deployment'), { merge: true }).spec
  const { spec, metadata } = parse(read('pod-monitor.yaml'))
  expect(metadata.namespace).toBe(parse(base('deployment')).metadata.namespace)
  expect(template.metadata.labels).toMatchObject(spec.selector.matchLabels)
  const [{ port }] = spec.podMetricsEndpoints
  expect(template.spec.containers[0].ports.map(({ name }: { name: string }) => name)).toContain(port)
  const policy = parseAllDocuments(base('network')).map(each => each.toJS())
  const { ingress } = policy.find(each => each.metadata.name === 'skylab').spec
  const ways = ingress.filter(({ ports }: { ports: { port: string }[] }) => ports.some(each => each.port === port))
  expect(JSON.stringify(ways)).toContain('"app.kubernetes.io/name":"prometheus"')
})

it('the kustomization includes the rule and the PodMonitor', () => {
  expect(parse(read('kustomization.yaml')).resources).toEqual(['pod-monitor.yaml', 'prometheus-rule.yaml'])
})
