/** The id of each request, and its trace. The operation that it begins gets both. */
import { randomUUID } from 'node:crypto'
import { createMiddleware } from 'hono/factory'
import { originFields } from '../../telemetry/tracing.ts'
import type { ApiEnv, CommonParts } from './env.ts'

const requestIdForm = /^[\w.:=+/-]{1,128}$/

/**
 * Gives the request an id, the client's `X-Request-ID` or a new one, and returns it in the response. Begins the request's
 * span in the trace of its `traceparent`. Sets `origin` and `log`.
 */
export function requestOrigin({ log, tracing }: Pick<CommonParts, 'log' | 'tracing'>) {
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
