/** Metrics of the webhooks of tenants. */
import { Counter, type Registry } from 'prom-client'

export const createWebhookMetrics = (registry: Registry) => ({
  answers: new Counter({
    name: 'skylab_tenant_webhook_answers_total',
    help: 'Answers of the webhooks of LNamespaces, by webhook (mutate, validate) and result (allowed, refused, failed: the API server could not be asked, malformed)',
    labelNames: ['webhook', 'result'] as const,
    registers: [registry],
  }),
})
