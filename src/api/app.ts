/** The API as a value: tests call it without a port, `server.ts` gives it one. */
import { OpenAPIHono } from '@hono/zod-openapi'
import type { ApiEnv, ApiParts } from './env.ts'
import { notFound, onError, onInvalid } from './errors.ts'
import { addHealthRoutes } from './health.ts'
import { addLabRoutes } from './labs.ts'
import { requestLog } from './request-log.ts'

/** Makes the API: the routes of SQR-066 under the configured prefix, and `/healthz`, `/readyz`, `/metrics`. */
export function createApi(parts: ApiParts): OpenAPIHono<ApiEnv> {
  const app = new OpenAPIHono<ApiEnv>({ defaultHook: onInvalid })
  app.onError(onError)
  app.notFound(notFound)
  app.use(requestLog(parts))
  addHealthRoutes(app, parts)
  addLabRoutes(app, parts)
  return app
}
