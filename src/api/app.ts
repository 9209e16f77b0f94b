/** The API as a value: tests call it without a port, `server.ts` serves it on one. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createBareApi } from './bare.ts'
import { admission } from './bounds/admit.ts'
import { limitDocuments } from './bounds/rates.ts'
import { addDocumentRoute, labsWords } from './document/document.ts'
import { addDocsPage } from './document/page.ts'
import type { Feature, Mount } from './feature.ts'
import { addFormRoute } from './form/handlers.ts'
import { addImageRoutes } from './images/handlers.ts'
import { addLabRoutes } from './labs/handlers.ts'
import { auditChanges } from './request/audit.ts'
import type { ApiEnv, ApiParts } from './request/env.ts'
import { EventStreams } from './sse/streams.ts'

/** The features, in the order of the document. */
const features: readonly Mount[] = [addLabRoutes, addImageRoutes, addFormRoute]

/** Makes the API: the routes of SQR-066 under the configured prefix, those of further features, and the document of all. */
export function createApi(parts: ApiParts, more: readonly Feature[] = []): OpenAPIHono<ApiEnv> {
  const { prefix } = parts.config.api
  const app = createBareApi(parts, auditChanges(parts))
  const admit = admission(parts)
  app.use(`${prefix}/*`, admit.bounded)
  const streams = new EventStreams(parts)
  for (const mount of [...features, ...more.map(({ mount }) => mount)]) mount(app, parts, admit, streams)
  const documents = limitDocuments({ ...parts, rates: parts.config.api.rates })
  const tags = [...labsWords.tags, ...more.flatMap(feature => feature.tags)]
  addDocumentRoute(app, parts, documents, { ...labsWords, tags })
  addDocsPage(app, parts, documents)
  return app
}
