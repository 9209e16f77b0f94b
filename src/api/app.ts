/** The API as a value: tests call it without a port, `server.ts` gives it one. */
import { OpenAPIHono } from '@hono/zod-openapi'
import { admission } from './admit.ts'
import { auditChanges } from './audit.ts'
import { boundRequests } from './bound-requests.ts'
import { addDocumentRoute } from './document.ts'
import type { ApiEnv, ApiParts } from './env.ts'
import { notFound, onError, onInvalid } from './errors.ts'
import { addFormRoute } from './form.ts'
import { refuseBadHead } from './head.ts'
import { addImageRoutes } from './images.ts'
import { addLabRoutes } from './labs.ts'
import { addDocsPage } from './page.ts'
import { limitDocuments } from './rates.ts'
import { requestLog } from './request-log.ts'

/** Makes the API: the routes of SQR-066 under the configured prefix, and the document of them all. */
export function createApi(parts: ApiParts): OpenAPIHono<ApiEnv> {
  const { limits, prefix } = parts.config.api
  const app = new OpenAPIHono<ApiEnv>({ defaultHook: onInvalid, getPath: checkedPath })
  app.onError(onError)
  app.notFound(notFound)
  app.use(requestLog(parts))
  app.use(auditChanges(parts))
  app.use(refuseBadHead)
  app.use(`${prefix}/*`, boundRequests(limits.maxRequests))
  const who = admission(parts)
  addLabRoutes(app, parts, who)
  addImageRoutes(app, parts, who)
  addFormRoute(app, parts, who)
  const documents = limitDocuments({ ...parts, rates: parts.config.api.rates })
  addDocumentRoute(app, parts, documents)
  addDocsPage(app, parts, documents)
  return app
}

/** The very path that was checked; what stands for a name in it is decoded, and once. A request without a head has no route. */
export function checkedPath(_: Request, options?: { env?: ApiEnv['Bindings'] }): string {
  return options?.env?.head?.path ?? ''
}
