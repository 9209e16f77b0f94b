/** What a cluster and Prometheus ask of a replica; open to all who reach the port. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import { ApiError } from '../errors.ts'
import type { ApiEnv, ApiParts } from './env.ts'
import { methodNotAllowed } from './errors.ts'
import { anywhere, refusals } from './problems.ts'
import { answered, json } from './routes.ts'
import { healthStatus } from './schemas.ts'

const tags = ['replica']

const routes = {
  health: createRoute({
    method: 'get',
    path: '/healthz',
    operationId: 'getHealth',
    tags,
    summary: 'Whether the process works',
    responses: { 200: json('it does', healthStatus('ok'), { status: 'ok' }), ...refusals(anywhere) },
  }),
  ready: createRoute({
    method: 'get',
    path: '/readyz',
    operationId: 'getReadiness',
    tags,
    summary: 'Whether the replica should be sent requests',
    responses: {
      200: json('it should', healthStatus('ready'), { status: 'ready' }),
      ...refusals([...anywhere, 'notReady']),
    },
  }),
  metrics: createRoute({
    method: 'get',
    path: '/metrics',
    operationId: 'getMetrics',
    tags,
    summary: 'Metrics for Prometheus',
    responses: {
      200: {
        description: 'in Prometheus’ text format',
        headers: answered(),
        content: { 'text/plain': { schema: z.string(), example: metricsExample() } },
      },
      ...refusals(anywhere),
    },
  }),
}

export function addHealthRoutes(app: OpenAPIHono<ApiEnv>, { readiness, metrics }: ApiParts): void {
  app.openapi(routes.health, c => c.json({ status: 'ok' as const }, 200))
  app.openapi(routes.ready, c => {
    const waiting = readiness.waitingFor()
    if (waiting.length === 0) return c.json({ status: 'ready' as const }, 200)
    throw new ApiError(
      503,
      waiting.map(what => ({ msg: `waiting for ${what}`, type: 'not_ready' })),
      { 'Retry-After': '1' },
    )
  })
  app.openapi(routes.metrics, async c => {
    const text = await metrics.registry.metrics()
    return c.text(text, 200, { 'Content-Type': metrics.registry.contentType })
  })
  for (const { path } of Object.values(routes)) app.all(path, methodNotAllowed(['GET', 'HEAD']))
}

function metricsExample(): string {
  return [
    '# HELP skylab_event_streams_open Event streams that are open',
    '# TYPE skylab_event_streams_open gauge',
    'skylab_event_streams_open 2',
    '',
  ].join('\n')
}
