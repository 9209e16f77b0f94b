/** An API without routes: how errors are answered, and what every request passes first. */
import { OpenAPIHono } from '@hono/zod-openapi'
import type { MiddlewareHandler } from 'hono'
import type { ApiEnv, CommonParts } from './request/env.ts'
import { notFound, onError, onInvalid } from './request/errors.ts'
import { checkedPath, refuseBadHead } from './request/head.ts'
import { requestLog } from './request/request-log.ts'
import { requestOrigin } from './request/request-origin.ts'

/** @param audit writes the lines of the audit log; it sees requests with a bad head too */
export function createBareApi(parts: CommonParts, audit: MiddlewareHandler<ApiEnv>): OpenAPIHono<ApiEnv> {
  const app = new OpenAPIHono<ApiEnv>({ defaultHook: onInvalid, getPath: checkedPath })
  app.onError(onError)
  app.notFound(notFound)
  app.use(requestOrigin(parts))
  app.use(requestLog(parts))
  app.use(audit)
  app.use(refuseBadHead)
  return app
}
