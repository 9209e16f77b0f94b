/** The API of apps as a value. It has no page: the process writes for any caller. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createBareApi } from '../bare.ts'
import { admission } from '../bounds/admit.ts'
import { LargeAnswers } from '../bounds/large-answers.ts'
import { limitDocuments } from '../bounds/rates.ts'
import { addDocumentRoute } from '../document/document.ts'
import type { ApiEnv } from '../request/env.ts'
import { auditApps } from './audit.ts'
import { addGraphqlRoutes } from './graphql-handlers.ts'
import { AppRoutes } from './handlers.ts'
import { addLogRoutes } from './log-routes.ts'
import { type AppsApiParts, appsRoot, prefixes } from './parts.ts'
import { addTemplateRoutes } from './template-handlers.ts'
import { documentWords } from './words.ts'

export function createAppsApi(given: AppsApiParts): OpenAPIHono<ApiEnv> {
  const { config } = given
  const parts = { ...given, config: { ...config, api: { ...config.api, prefix: prefixes.user } } }
  const app = createBareApi(parts, auditApps(parts, parts.auditor))
  const admit = admission(parts)
  app.use(`${appsRoot}/*`, admit.bounded)
  addDocumentRoute(app, parts, limitDocuments({ ...parts, rates: config.api.rates }), documentWords)
  new AppRoutes(app, parts, admit).add()
  const large = new LargeAnswers(() => parts.metrics.requestsRefused.inc({ kind: 'answer' }))
  addTemplateRoutes(app, parts, admit, large)
  addGraphqlRoutes(app, parts, admit, large)
  addLogRoutes(app, parts, admit)
  return app
}
