/** One line of log, one observation and one span for each request. */
import { randomUUID } from 'node:crypto'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import { noTracing, originFields } from '../../telemetry/tracing.ts'
import type { ApiEnv, ApiParts } from './env.ts'
import { isMisconfigured } from './errors.ts'

const requestIdForm = /^[\w.:=+/-]{1,128}$/
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/**
 * Names the request by `X-Request-ID`, the caller's or one of ours, and gives the name back; continues the trace of its
 * `traceparent`. Both go on to the operation that it begins. Time is counted until the head of the answer: an event
 * stream goes on after it.
 * @param level `quiet` for what machines ask every few seconds: not worth a line, or a trace, each
 */
export function requestLog(
  { clock, log, metrics, tracing }: Pick<ApiParts, 'clock' | 'log' | 'metrics' | 'tracing'>,
  level: 'info' | 'quiet' = 'info',
) {
  const [tracer, logLevel] = level === 'quiet' ? ([noTracing, 'debug'] as const) : ([tracing, 'info'] as const)
  return createMiddleware<ApiEnv>(async function requestLog(c, next) {
    const startMs = clock.monotonicMs()
    const given = c.req.header('x-request-id')
    const requestId = given !== undefined && requestIdForm.test(given) ? given : randomUUID()
    const span = tracer.request(c.req.header('traceparent'))
    const requestLogger = log.child(originFields(requestId, span.traceparent))
    c.set('log', requestLogger)
    c.set('origin', { requestId, span })
    metrics.httpRequestsInFlight.inc()
    try {
      await next()
    } finally {
      metrics.httpRequestsInFlight.dec()
    }
    c.res.headers.set('X-Request-ID', requestId)

    const ms = clock.monotonicMs() - startMs
    const { status } = c.res
    const method = knownMethods.has(c.req.method) ? c.req.method : 'other'
    const pattern = routePath(c, -1)
    // What no route has is one route: its paths are whatever anyone sends.
    const route = pattern.endsWith('*') ? 'unknown' : pattern
    const user = c.get('caller')?.username
    // A method that a route lacks is whatever anyone sends, without a token: one series for each route.
    const counted = status === 405 ? 'other' : method
    metrics.httpRequestDuration.observe({ method: counted, route, status: String(status) }, ms / 1000)
    if (status >= 500 && status !== 503) {
      metrics.httpFaults.inc({ reason: isMisconfigured(c.error) ? 'misconfigured' : 'defect' })
    }
    requestLogger[logLevel]({ method, route, status, ms: Math.round(ms), user }, 'request')
    span.end({
      name: `${method} ${route}`,
      attributes: {
        ...{ 'http.request.method': method, 'http.route': route, 'http.response.status_code': status },
        ...{ 'skylab.request_id': requestId, ...(user !== undefined && { 'skylab.user': user }) },
      },
      ...(status >= 500 && { error: String(status) }),
    })
  })
}
