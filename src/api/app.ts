/** The API as a value: tests call it without a port, `server.ts` serves it on one. */
import { OpenAPIHono } from '@hono/zod-openapi'
import { type Admission, admission } from './bounds/admit.ts'
import { boundRequests } from './bounds/in-flight.ts'
import { limitDocuments } from './bounds/rates.ts'
import { addDocumentRoute } from './document/document.ts'
import { addDocsPage } from './document/page.ts'
import { addFormRoute } from './form/handlers.ts'
import { addImageRoutes } from './images/handlers.ts'
import { addLabRoutes } from './labs/handlers.ts'
import { auditChanges } from './request/audit.ts'
import type { ApiEnv, ApiParts } from './request/env.ts'
import { notFound, onError, onInvalid } from './request/errors.ts'
import { checkedPath, refuseBadHead } from './request/head.ts'
import { requestLog } from './request/request-log.ts'
import { requestOrigin } from './request/request-origin.ts'

/** Adds the routes of one feature. */
type Mount = (app: OpenAPIHono<ApiEnv>, parts: ApiParts, admit: Admission) => void

/** The features, in the order of the document. */
const features: readonly Mount[] = [addLabRoutes, addImageRoutes, addFormRoute]

/** Makes the API: the routes of SQR-066 under the configured prefix, and the document of all routes. */
export function createApi(parts: ApiParts): OpenAPIHono<ApiEnv> {
  const { limits, prefix } = parts.config.api
  const app = new OpenAPIHono<ApiEnv>({ defaultHook: onInvalid, getPath: checkedPath })
  app.onError(onError)
  app.notFound(notFound)
  app.use(requestOrigin(parts))
  app.use(requestLog(parts))
  app.use(auditChanges(parts))
  app.use(refuseBadHead)
  app.use(`${prefix}/*`, boundRequests(limits.maxRequests))
  const admit = admission(parts)
  for (const mount of features) mount(app, parts, admit)
  const documents = limitDocuments({ ...parts, rates: parts.config.api.rates })
  addDocumentRoute(app, parts, documents)
  addDocsPage(app, parts, documents)
  return app
}
