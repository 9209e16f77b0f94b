/** For tests: everything that a replica at rest serves at `/metrics`. */
import { Registry } from 'prom-client'
import { createAmountMetrics } from '../../../src/telemetry/amount-metrics.ts'
import { createAppApiMetrics } from '../../../src/telemetry/app-api-metrics.ts'
import { createAppGauges } from '../../../src/telemetry/app-gauges.ts'
import { createBillingMetrics } from '../../../src/telemetry/billing-metrics.ts'
import { createGauges, type GaugeSources, type KindCensus } from '../../../src/telemetry/gauges.ts'
import { createIdleMetrics } from '../../../src/telemetry/idle-metrics.ts'
import { createMetrics } from '../../../src/telemetry/metrics.ts'
import { createNotebookGauges } from '../../../src/telemetry/notebook-gauges.ts'
import { createTenantGauges } from '../../../src/telemetry/tenant-gauges.ts'
import { createWebhookMetrics } from '../../../src/telemetry/webhook-metrics.ts'

export const emptyCensus: KindCensus = {
  subjects: { pending: 0, running: 0, terminating: 0, failed: 0 },
  ...{ waiting: 0, owned: 0, overdue: 0, longestWaitSeconds: 0 },
}

export function servedMetrics(sources: Partial<GaugeSources> = {}): Registry {
  const { registry } = createMetrics(new Registry())
  createGauges(registry, {
    version: '1.2.3',
    run: 'labs',
    census: async () => ({ lab: emptyCensus }),
    catalogueAgeMs: async () => 0,
    redisConnected: () => true,
    watchSilenceMs: () => ({ namespaces: 0, pods: 0, podEvents: 0 }),
    kubernetesLoad: () => ({ inFlight: 0, waiting: 0 }),
    certificates: () => ({}),
    engines: () => ({ lab: { owned: 0, places: 24, free: 24 } }),
    ...sources,
  })
  createBillingMetrics(registry, { driver: '', depth: () => undefined })
  createAmountMetrics(registry)
  createTenantGauges(registry, {
    tenants: () => ({ conditions: { Exists: 0 }, grants: 0, overdue: 0 }),
    policyActive: () => true,
    vetDifferences: () => 0,
  })
  createWebhookMetrics(registry)
  createNotebookGauges(registry, { policyActive: () => true })
  createAppGauges(registry, {
    apps: () => ({ phases: { Ready: 0 }, conditions: { Reconciled: 0 } }),
    policyActive: () => true,
  })
  createAppApiMetrics(registry)
  createIdleMetrics(registry, { kinds: ['lab'], census: async () => undefined })
  return registry
}
