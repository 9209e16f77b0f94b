/** One line of log and one observation for each request. */
import { randomUUID } from 'node:crypto'
import { createMiddleware } from 'hono/factory'
import { routePath } from 'hono/route'
import type { ApiEnv, ApiParts } from './env.ts'

const requestIdForm = /^[\w.:=+/-]{1,128}$/
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Asked every few seconds by machines: not worth a line each. */
const quietRoutes = new Set(['/healthz', '/readyz', '/metrics'])

/**
 * Names the request by `X-Request-ID`, the caller's or one of ours, and gives the name back. Time is counted until the
 * head of the answer: an event stream goes on after it.
 */
export function requestLog({ clock, log, metrics }: Pick<ApiParts, 'clock' | 'log' | 'metrics'>) {
  return createMiddleware<ApiEnv>(async function requestLog(c, next) {
    const startMs = clock.monotonicMs()
    const given = c.req.header('x-request-id')
    const requestId = given !== undefined && requestIdForm.test(given) ? given : randomUUID()
    const requestLogger = log.child({ requestId })
    c.set('log', requestLogger)
    await next()
    c.res.headers.set('X-Request-ID', requestId)

    const ms = clock.monotonicMs() - startMs
    const { status } = c.res
    const method = knownMethods.has(c.req.method) ? c.req.method : 'other'
    const pattern = routePath(c, -1)
    // What no route has is one route: its paths are whatever anyone sends.
    const route = pattern === '/*' || pattern === '*' ? 'unknown' : pattern
    metrics.httpRequestDuration.observe({ method, route, status: String(status) }, ms / 1000)
    const level = quietRoutes.has(route) ? 'debug' : 'info'
    requestLogger[level]({ method, route, status, ms: Math.round(ms), user: c.get('caller')?.username }, 'request')
  })
}
