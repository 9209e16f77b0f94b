/** Writes one log line and one observation for each request, and ends its span. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import type { ApiEnv, ApiParts } from './env.ts'
import { isMisconfigured } from './errors.ts'

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * Observes the request that `requestOrigin` named. The duration ends with the head of the answer, since an event stream
 * continues after it.
 * @param level of the line: `debug` for requests that machines repeat every few seconds
 */
export function requestLog({ clock, metrics }: Pick<ApiParts, 'clock' | 'metrics'>, level: 'info' | 'debug' = 'info') {
  return createMiddleware<ApiEnv>(async function requestLog(c, next) {
    const startMs = clock.monotonicMs()
    metrics.httpRequestsInFlight.inc()
    try {
      await next()
    } finally {
      metrics.httpRequestsInFlight.dec()
    }
    observe(c, clock.monotonicMs() - startMs, metrics, level)
  })
}

function observe(c: Context<ApiEnv>, ms: number, metrics: ApiParts['metrics'], level: 'info' | 'debug'): void {
  const { status } = c.res
  const method = knownMethods.has(c.req.method) ? c.req.method : 'other'
  const pattern = routePath(c, -1)
  // Anyone can send any path: all paths without a route count as one.
  const route = pattern.endsWith('*') ? 'unknown' : pattern
  const user = c.get('caller')?.username
  // Anyone can send any method, without a token: methods that a route lacks count as one.
  const counted = status === 405 ? 'other' : method
  metrics.httpRequestDuration.observe({ method: counted, route, status: String(status) }, ms / 1000)
  // Any other is about something beyond us, such as a port of a container where nothing listens.
  if (status === 500) {
    metrics.httpFaults.inc({ reason: isMisconfigured(c.error) ? 'misconfigured' : 'defect' })
  }
  c.get('log')[level]({ method, route, status, ms: Math.round(ms), user }, 'request')
  const { requestId, span } = c.get('origin')
  span.end({
    name: `${method} ${route}`,
    attributes: {
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'skylab.request_id': requestId,
      ...(user !== undefined && { 'skylab.user': user }),
    },
    ...(status >= 500 && { error: String(status) }),
  })
}
