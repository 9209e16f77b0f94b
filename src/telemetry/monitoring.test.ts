/** k8s/monitoring uses only metrics that replicas serve. */
import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { servedMetrics } from '../../test/kit/telemetry/served-metrics.ts'
import { createAppApiMetrics } from './app-api-metrics.ts'
import { createCostGauge } from './dispatch-cost.ts'
import { createDispatchGauges } from './dispatch-gauges.ts'
import { createDispatchMetrics } from './dispatch-metrics.ts'
import { collectProcessMetrics, forgetLabs } from './metrics.ts'
import { createTunnelMetrics } from './tunnel-metrics.ts'

const read = (name: string) => readFileSync(new URL(`../../k8s/monitoring/${name}`, import.meta.url), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}
const rulesOf = (name: string): readonly Rule[] =>
  parse(read(name)).spec.groups.flatMap((group: { rules: Rule[] }) => group.rules)
const ruleFiles = [
  'prometheus-rule.yaml',
  'idle-rule.yaml',
  'tenants/prometheus-rule.yaml',
  'notebooks/prometheus-rule.yaml',
  'apps/prometheus-rule.yaml',
  'dispatch/prometheus-rule.yaml',
]
const rules = ruleFiles.flatMap(rulesOf)
/** Without the heads of rows. */
const panels: readonly { title: string; targets: { expr: string }[] }[] = JSON.parse(
  read('dashboard.json'),
).panels.filter(({ type }: { type: string }) => type !== 'row')

/** Names of all series in use, with their labels. */
function servedSeries(): Map<string, readonly string[]> {
  const registry = servedMetrics()
  createDispatchMetrics(registry)
  createCostGauge(registry, { machines: async () => [], types: new Set(), tenants: new Set() })
  createDispatchGauges(registry, { census: async () => undefined, owned: () => 0, spoolLagSeconds: () => 0 })
  createTunnelMetrics(registry, () => 0)
  collectProcessMetrics(registry)
  return new Map(
    registry.getMetricsAsArray().flatMap(metric => {
      const labels = (metric as unknown as { labelNames: readonly string[] }).labelNames
      const suffixes = metric.constructor.name === 'Histogram' ? ['_bucket', '_sum', '_count'] : ['']
      // Prometheus' own label of a bucket is its bound, and that of a summary its quantile.
      const own = metric.constructor.name === 'Summary' ? ['quantile'] : []
      const labelsOf = (suffix: string) => (suffix === '_bucket' ? [...labels, 'le'] : [...labels, ...own])
      return suffixes.map(suffix => [`${metric.name}${suffix}`, labelsOf(suffix)] as const)
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
    const names = [...expr.matchAll(/\b(?:skylab|arvados|process|nodejs)_\w+/g)].map(([name]) => name)
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) expect([...series.keys()]).toContain(name)
    for (const [, name, selector] of expr.matchAll(/\b((?:skylab|arvados)_\w+)\{([^}]*)\}/g)) {
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

const all = (path: string) =>
  parseAllDocuments(readFileSync(new URL(`../../k8s/${path}.yaml`, import.meta.url), 'utf8'), { merge: true }).map(
    each => each.toJS(),
  )

it.each([
  ['SkylabReplicasMissing', 'base', '!~"tenants|notebooks|apps|gateway|dispatch"'],
  ['SkylabTenantsReplicasMissing', 'components/tenants', '="tenants"'],
  ['SkylabNotebooksReplicasMissing', 'components/notebooks', '="notebooks"'],
  ['SkylabAppsReplicasMissing', 'components/apps', '="apps"'],
  ['SkylabDispatchReplicasMissing', 'components/dispatch', '="dispatch"'],
])('%s has the number of replicas of k8s/%s, and counts no others', (name, folder, matches) => {
  const { expr } = rules.find(({ alert }) => alert === name)!
  const [{ spec }] = all(`${folder}/deployment`)
  expect(expr).toBe(`count by (namespace) (skylab_build_info{run${matches}}) < ${spec.replicas}`)
})

it.each([
  ['pod-monitor.yaml', 'base', 'skylab'],
  ['tenants/pod-monitor.yaml', 'components/tenants', 'skylab-tenants'],
  ['notebooks/pod-monitor.yaml', 'components/notebooks', 'skylab-notebooks'],
  ['apps/pod-monitor.yaml', 'components/apps', 'skylab-apps'],
  ['dispatch/pod-monitor.yaml', 'components/dispatch', 'skylab-dispatch'],
])('%s selects the replicas of k8s/%s alone, at a port that Prometheus may reach', (file, folder, name) => {
  const [deployment] = all(`${folder}/deployment`)
  const { template } = deployment.spec
  const { spec, metadata } = parse(read(file))
  expect(metadata.namespace).toBe(deployment.metadata.namespace)
  expect(spec.selector.matchLabels).toEqual(deployment.spec.selector.matchLabels)
  expect(template.metadata.labels).toMatchObject(spec.selector.matchLabels)
  const [{ port }] = spec.podMetricsEndpoints
  expect(template.spec.containers[0].ports.map(({ name }: { name: string }) => name)).toContain(port)
  const { ingress } = all(`${folder}/network`).find(each => each.metadata.name === name).spec
  const ways = ingress.filter(({ ports }: { ports: { port: string }[] }) => ports.some(each => each.port === port))
  expect(JSON.stringify(ways)).toContain('"app.kubernetes.io/name":"prometheus"')
})

it.each([
  ['kustomization.yaml', ['pod-monitor.yaml', 'prometheus-rule.yaml', 'idle-rule.yaml']],
  ['tenants/kustomization.yaml', ['pod-monitor.yaml', 'prometheus-rule.yaml']],
  ['notebooks/kustomization.yaml', ['pod-monitor.yaml', 'prometheus-rule.yaml']],
  ['apps/kustomization.yaml', ['pod-monitor.yaml', 'prometheus-rule.yaml']],
  ['dispatch/kustomization.yaml', ['pod-monitor.yaml', 'prometheus-rule.yaml']],
])('%s includes the PodMonitor and the rules', (file, files) => {
  expect(parse(read(file)).resources).toEqual(files)
})

it('the row of apps has a panel for each metric of logs and GraphQL', () => {
  const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
  const names = createAppApiMetrics(new Registry())
  for (const metric of Object.values(names)) expect(shown).toContain((metric as unknown as { name: string }).name)
})

it('the row of containers has a panel for each metric of machines and containers', () => {
  const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
  const own = [...series.keys()].filter(name => /^(arvados_|skylab_dispatch_)/.test(name))
  const names = own.filter(name => !/_(sum|count)$/.test(name))
  expect(names.length).toBeGreaterThan(20)
  for (const name of names) expect(shown).toContain(name)
})

it('the row of idle labs has a panel for each metric of the idle engine', () => {
  const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
  const served = servedMetrics()
    .getMetricsAsArray()
    .filter(({ name }) => name.startsWith('skylab_idle_'))
  expect(served.length).toBeGreaterThan(0)
  for (const { name } of served) expect(shown).toContain(name)
})

it('forgetLabs takes away the gauges of labs that read as a fault at 0', () => {
  const registry = servedMetrics()
  const names = () => registry.getMetricsAsArray().map(({ name }) => name)
  const alerting = ['skylab_admission_policy_active', 'skylab_compare_last_success_timestamp_seconds']
  expect(names()).toEqual(expect.arrayContaining(alerting))
  forgetLabs(registry)
  expect(names().filter(name => alerting.includes(name))).toEqual([])
  expect(names()).toContain('skylab_tenant_policy_active')
})
