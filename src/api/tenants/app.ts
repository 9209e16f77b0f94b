/** The API of tenants as a value. It has no page: the process makes roles. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createBareApi } from '../bare.ts'
import { admission } from '../bounds/admit.ts'
import { limitDocuments } from '../bounds/rates.ts'
import { addDocumentRoute } from '../document/document.ts'
import type { ApiEnv } from '../request/env.ts'
import { auditSudo } from './audit.ts'
import { addTenantRoutes } from './handlers.ts'
import { type TenantsApiParts, tenantsPrefix } from './parts.ts'
import { documentWords } from './words.ts'

export function createTenantsApi(given: TenantsApiParts): OpenAPIHono<ApiEnv> {
  const { config } = given
  const parts = { ...given, config: { ...config, api: { ...config.api, prefix: tenantsPrefix } } }
  const app = createBareApi(parts, auditSudo(parts, parts.auditor))
  const admit = admission(parts)
  app.use(tenantsPrefix, admit.bounded)
  app.use(`${tenantsPrefix}/*`, admit.bounded)
  // No LNamespace has a dot in its name, so the document has a path of its own. It stands before those with names.
  addDocumentRoute(app, parts, limitDocuments({ ...parts, rates: config.api.rates }), documentWords)
  addTenantRoutes(app, parts, admit)
  return app
}
