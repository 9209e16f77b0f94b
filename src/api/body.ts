/** How large a body may be. */
import type { MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { createMiddleware } from 'hono/factory'
import { tooLarge } from './errors.ts'

/**
 * The framework's limit counts a body as it is read, for which it makes a stream of it: 1 ms of each create. The server
 * holds a sender to the length that it declares, so that one is believed.
 */
export function limitBody(maxSize: number): MiddlewareHandler {
  const count = bodyLimit({ maxSize, onError: tooLarge })
  return createMiddleware(async function limitBody(c, next) {
    const declared = c.req.header('content-length')
    if (declared === undefined || c.req.header('transfer-encoding') !== undefined) return count(c, next)
    if (Number(declared) > maxSize) tooLarge()
    await next()
  })
}
