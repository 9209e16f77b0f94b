/** The name of each request and the trace that it belongs to. Both go on to the operation that it begins. */
import { randomUUID } from 'node:crypto'
import { createMiddleware } from 'hono/factory'
import { originFields } from '../../telemetry/tracing.ts'
import type { ApiEnv, ApiParts } from './env.ts'

const requestIdForm = /^[\w.:=+/-]{1,128}$/

/**
 * Names the request by `X-Request-ID`, the client's or a new one, and sends the name back. Begins the span of the request
 * in the trace of its `traceparent`. Sets `origin` and `log`.
 */
export function requestOrigin({ log, tracing }: Pick<ApiParts, 'log' | 'tracing'>) {
  return createMiddleware<ApiEnv>(async function requestOrigin(c, next) {
    const given = c.req.header('x-request-id')
    const requestId = given !== undefined && requestIdForm.test(given) ? given : randomUUID()
    const span = tracing.request(c.req.header('traceparent'))
    c.set('log', log.child(originFields(requestId, span.traceparent)))
    c.set('origin', { requestId, span })
    await next()
    c.res.headers.set('X-Request-ID', requestId)
  })
}
