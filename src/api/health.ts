/** What a cluster and Prometheus ask of a replica; open to all who reach the port. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { ApiError } from '../errors.ts'
import type { ApiEnv, ApiParts } from './env.ts'
import { methodNotAllowed } from './errors.ts'

export function addHealthRoutes(app: OpenAPIHono<ApiEnv>, { readiness, metrics }: ApiParts): void {
  app.get('/healthz', c => c.json({ status: 'ok' }))
  app.get('/readyz', c => {
    const waiting = readiness.waitingFor()
    if (waiting.length === 0) return c.json({ status: 'ready' })
    throw new ApiError(
      503,
      waiting.map(what => ({ msg: `waiting for ${what}`, type: 'not_ready' })),
      { 'Retry-After': '1' },
    )
  })
  app.get('/metrics', async c => {
    const text = await metrics.registry.metrics()
    return c.body(text, 200, { 'Content-Type': metrics.registry.contentType })
  })
  for (const path of ['/healthz', '/readyz', '/metrics']) app.all(path, methodNotAllowed(['GET', 'HEAD']))
}
