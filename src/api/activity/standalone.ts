/** The API of activity as a value, for a process that serves nothing else. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createBareApi } from '../bare.ts'
import { admission } from '../bounds/admit.ts'
import { limitDocuments } from '../bounds/rates.ts'
import { addDocumentRoute, commonWords } from '../document/document.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { EventStreams } from '../sse/streams.ts'
import { auditActivity } from './audit.ts'
import { ActivityRoutes } from './handlers.ts'
import { type ActivityParts, activityRoot } from './parts.ts'
import { tags } from './words.ts'

/** There are no labs, so no token is one of theirs. */
export type StandaloneParts = CommonParts & Omit<ActivityParts, 'verifyLab'>

export const documentWords = {
  title: 'Skylab: activity',
  description: `What is idle, when it is stopped for that, and how it is kept.\n\n${commonWords}`,
  tags,
}

export function createActivityApi(given: StandaloneParts): OpenAPIHono<ApiEnv> {
  const { config } = given
  const verifyLab = async () => false
  const parts = { ...given, verifyLab, config: { ...config, api: { ...config.api, prefix: activityRoot } } }
  const app = createBareApi(parts, auditActivity(parts, parts.auditor))
  const admit = admission(parts)
  app.use(`${activityRoot}/*`, admit.bounded)
  addDocumentRoute(app, parts, limitDocuments({ ...parts, rates: config.api.rates }), documentWords)
  new ActivityRoutes(app, parts, admit, new EventStreams(parts)).add()
  return app
}
