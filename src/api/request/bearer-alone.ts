/** Refuses cookies and pages, on routes of processes that write for any caller. */
import { createMiddleware } from 'hono/factory'
import { ApiError } from '../../base/errors.ts'
import { isOfPage } from '../../identity/pages.ts'
import type { ApiEnv } from './env.ts'

/** No page may speak to these routes in the name of its visitor, whatever the ingress lets pass. */
export const bearerAlone = createMiddleware<ApiEnv>(function bearerAlone(c, next) {
  const { headers } = c.req.raw
  if (headers.has('cookie')) throw refused('these routes take bearer tokens alone, and no cookies', 'cookie')
  if (isOfPage(headers)) throw refused('these routes take no requests of pages in a browser', 'origin')
  return next()
})

const refused = (msg: string, header: string): ApiError =>
  new ApiError(403, { msg, type: 'forbidden', loc: ['header', header] })
