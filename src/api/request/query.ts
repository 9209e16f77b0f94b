/** The queries of the few routes that have one. */
import { createMiddleware } from 'hono/factory'
import { ApiError } from '../../base/errors.ts'
import type { ApiEnv } from './env.ts'

/**
 * Middleware of a route with a query, before its validators: they get the values that are read here, of the text that the server
 * kept. The framework would read the URL, which has none.
 * @throws {ApiError} 400
 */
export const withQuery = createMiddleware<ApiEnv>(function withQuery(c, next) {
  const values = queryValues(c.env?.head?.query ?? '')
  c.req.queries = (() => values) as typeof c.req.queries
  return next()
})

/** All values by name, in order. @throws {ApiError} 400 */
export function queryValues(text: string): Record<string, string[]> {
  const values = new Map<string, string[]>()
  for (const part of text.split('&').filter(each => each !== '')) {
    const at = part.indexOf('=')
    const [name, value] = at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
    const known = values.get(decoded(name))
    if (known) known.push(decoded(value))
    else values.set(decoded(name), [decoded(value)])
  }
  return Object.fromEntries(values)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new ApiError(400, { msg: 'the query is not percent-encoded UTF-8', type: 'malformed', loc: ['query'] })
  }
}
