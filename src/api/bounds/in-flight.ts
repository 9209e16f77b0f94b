/** Limits concurrent requests, from their head until their answer is sent. */
import type { Context, MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { whenAnswered } from '../../http/answered.ts'
import type { ApiEnv } from '../request/env.ts'
import { TotalLimit } from './held.ts'

/** Middleware that counts each request in flight: 503 beyond `max`. */
export function boundRequests(max: number): MiddlewareHandler<ApiEnv> {
  const requests = new TotalLimit(max, 'requests')
  return createMiddleware<ApiEnv>(async function boundRequests(c, next) {
    const leave = requests.enter()
    try {
      await next()
    } finally {
      onceSent(c, leave)
    }
  })
}

/** Calls when the answer is sent; for an event stream, which has its own limits, when it has begun. */
export function onceSent(c: Context<ApiEnv>, then: () => void): void {
  const outgoing = c.env?.outgoing
  const isStream = c.res.headers.get('content-type') === 'text/event-stream'
  if (isStream || !outgoing || !('req' in outgoing)) then()
  else whenAnswered(outgoing, then)
}
