/** One line of the log, one observation and the end of the span for each request. */
import type { Context } from 'hono'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import type { ApiEnv, ApiParts } from './env.ts'
import { isMisconfigured } from './errors.ts'

const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * Observes the request that `requestOrigin` named. Time is counted until the head of the answer: an event stream goes on
 * after it.
 * @param level of the line: `debug` for what machines ask every few seconds
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
  // A path without a route is whatever anyone sends: all of them are one route.
  const route = pattern.endsWith('*') ? 'unknown' : pattern
  const user = c.get('caller')?.username
  // A method that a route lacks is whatever anyone sends, without a token: one series for each route.
  const counted = status === 405 ? 'other' : method
  metrics.httpRequestDuration.observe({ method: counted, route, status: String(status) }, ms / 1000)
  if (status >= 500 && status !== 503) {
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
