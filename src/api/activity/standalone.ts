/** The API of activity as a value, for a process that serves nothing else. */
import { OpenAPIHono } from '@hono/zod-openapi'
import { admission } from '../bounds/admit.ts'
import { limitDocuments } from '../bounds/rates.ts'
import { addDocumentRoute, commonWords } from '../document/document.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { notFound, onError, onInvalid } from '../request/errors.ts'
import { checkedPath, refuseBadHead } from '../request/head.ts'
import { requestLog } from '../request/request-log.ts'
import { requestOrigin } from '../request/request-origin.ts'
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
  const app = new OpenAPIHono<ApiEnv>({ defaultHook: onInvalid, getPath: checkedPath })
  app.onError(onError)
  app.notFound(notFound)
  app.use(requestOrigin(parts))
  app.use(requestLog(parts))
  app.use(auditActivity(parts, parts.auditor))
  app.use(refuseBadHead)
  const admit = admission(parts)
  app.use(`${activityRoot}/*`, admit.bounded)
  addDocumentRoute(app, parts, limitDocuments({ ...parts, rates: config.api.rates }), documentWords)
  new ActivityRoutes(app, parts, admit, new EventStreams(parts)).add()
  return app
}
