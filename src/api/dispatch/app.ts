/** The API of containers as a value. It has no page: the process writes for any caller. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createBareApi } from '../bare.ts'
import { admission } from '../bounds/admit.ts'
import { LargeAnswers } from '../bounds/large-answers.ts'
import { limitDocuments } from '../bounds/rates.ts'
import { addDocumentRoute } from '../document/document.ts'
import type { ApiEnv } from '../request/env.ts'
import { auditDispatch } from './audit.ts'
import { ContainerRoutes } from './handlers.ts'
import { addManagementRoutes } from './management-handlers.ts'
import { type DispatchApiParts, dispatchRoot, managementRoot, prefixes } from './parts.ts'
import { TunnelRoutes } from './tunnel-handlers.ts'
import { documentWords } from './words.ts'

export function createDispatchApi(given: DispatchApiParts): OpenAPIHono<ApiEnv> {
  const { config } = given
  const parts = { ...given, config: { ...config, api: { ...config.api, prefix: prefixes.user } } }
  const app = createBareApi(parts, auditDispatch(parts, parts.auditor))
  const admit = admission(parts)
  app.use(`${dispatchRoot}/*`, admit.bounded)
  app.use(`${managementRoot}/*`, admit.bounded)
  addDocumentRoute(app, parts, limitDocuments({ ...parts, rates: config.api.rates }), documentWords)
  const large = new LargeAnswers(() => parts.metrics.requestsRefused.inc({ kind: 'answer' }))
  new ContainerRoutes(app, parts, admit, large).add()
  new TunnelRoutes(app, parts, admit).add()
  addManagementRoutes(app, parts, admit, large)
  return app
}
