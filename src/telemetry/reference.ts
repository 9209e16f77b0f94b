/** Renders the reference of metrics: a table made from the registry that a replica serves. */
import { Registry } from 'prom-client'
import { createAmountMetrics } from './amount-metrics.ts'
import { createAppApiMetrics } from './app-api-metrics.ts'
import { createAppGauges } from './app-gauges.ts'
import { createArvadosMetrics } from './arvados-metrics.ts'
import { createBillingMetrics } from './billing-metrics.ts'
import { CullingMetrics } from './culling-metrics.ts'
import { createCostGauge } from './dispatch-cost.ts'
import { createDispatchGauges } from './dispatch-gauges.ts'
import { createKeptGauges } from './dispatch-kept.ts'
import { createDispatchMetrics } from './dispatch-metrics.ts'
import { createGatewayMetrics } from './gateway-metrics.ts'
import { createGauges, type GaugeSources } from './gauges.ts'
import { createIdleMetrics } from './idle-metrics.ts'
import { createMetrics } from './metrics.ts'
import { createNotebookGauges } from './notebook-gauges.ts'
import { createTenantGauges } from './tenant-gauges.ts'
import { createWebhookMetrics } from './webhook-metrics.ts'

const head = `# Metrics

<!-- Made by \`npm run docs\` of src/telemetry (metrics.ts, gauges.ts, app-gauges.ts, app-api-metrics.ts, tenant-gauges.ts,
     billing-metrics.ts, amount-metrics.ts, webhook-metrics.ts, notebook-gauges.ts, idle-metrics.ts, culling-metrics.ts, gateway-metrics.ts,
     dispatch-metrics.ts, dispatch-gauges.ts, dispatch-cost.ts, dispatch-kept.ts): change those. -->

Each replica serves these metrics in Prometheus' text format at \`/metrics\` on its monitoring port. Values of labels come from
short lists, never from users; those of \`notebook_culling_total\` and \`last_notebook_culling_timestamp_seconds\` alone name people's
notebooks, 1,000 at most. Node's own metrics of the process (\`process_*\`, \`nodejs_*\`) are there too.
[operations.md](operations.md) explains how to use them.

| name | type | labels | what |
|---|---|---|---|
`

const cell = (text: string) => text.replaceAll('|', '\\|')

/** Our own metrics, by name. */
export function metricsReference(): string {
  const { registry } = createMetrics(new Registry())
  createGauges(registry, nothingToTell)
  createTenantGauges(registry, {
    tenants: () => ({ conditions: {}, grants: 0, overdue: 0 }),
    policyActive: () => undefined,
    vetDifferences: () => undefined,
  })
  createWebhookMetrics(registry)
  createBillingMetrics(registry, { driver: '', depth: () => undefined })
  createAmountMetrics(registry)
  createNotebookGauges(registry, { policyActive: () => undefined })
  createAppGauges(registry, { apps: () => ({ phases: {}, conditions: {} }), policyActive: () => undefined })
  createAppApiMetrics(registry)
  createIdleMetrics(registry, { kinds: [], census: async () => undefined })
  void new CullingMetrics(registry)
  createGatewayMetrics(registry, { open: () => ({ request: 0, websocket: 0 }), routes: () => undefined })
  createArvadosMetrics(registry)
  createDispatchMetrics(registry)
  createCostGauge(registry, { machines: async () => [], types: new Set(), tenants: new Set() })
  createDispatchGauges(registry, { census: async () => undefined, owned: () => 0, spoolLagSeconds: () => 0 })
  createKeptGauges(registry, async () => undefined)
  const rows = registry
    .getMetricsAsArray()
    .filter(({ name }) => /^skylab_|^arvados_|notebook_culling_/.test(name))
    .map(metric => ({ ...metric, labels: (metric as unknown as { labelNames: readonly string[] }).labelNames }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, labels, help, ...metric }) => {
      const { type } = metric as unknown as { type: string }
      return `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${cell(help)} |\n`
    })
  return head + rows.join('')
}

/** Only names are read, so no source is called. */
const nothingToTell: GaugeSources = {
  version: '',
  run: '',
  census: async () => undefined,
  catalogueAgeMs: async () => undefined,
  redisConnected: () => false,
  watchSilenceMs: () => ({}),
  kubernetesLoad: () => ({ inFlight: 0, waiting: 0 }),
  certificates: () => ({}),
  engines: () => ({}),
}
