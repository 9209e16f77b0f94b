/** What the head of a request must be, beyond what the server's parser asks: read one way, whoever reads it. */
import type { IncomingMessage } from 'node:http'
import type { MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { Limits } from '../config/limits.ts'
import { ApiError } from '../errors.ts'
import type { ApiEnv } from './env.ts'

type HeadLimits = Pick<Limits, 'maxHeaders' | 'maxTargetBytes'>

/** Of which a request has one: of two, who stood before us may have checked the other. */
const single = new Set([
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'idempotency-key',
  'last-event-id',
  'x-auth-request-token',
  'x-auth-request-user',
  'x-skylab-ingress-secret',
])

/** What may stand in a path as it is; all else is percent-encoded. */
const plainPath = /^[!$%&-;=@-Z_a-z~]*$/
const dotSegment = /\/(\.|%2e){1,2}(?=\/|$)/i

/** Middleware before all others that look at a request: 400, 414, 431. */
export function checkHead(limits: HeadLimits): MiddlewareHandler<ApiEnv> {
  return createMiddleware<ApiEnv>(async function checkHead(c, next) {
    const incoming = c.env?.incoming
    if (incoming) check(incoming as IncomingMessage, limits)
    await next()
  })
}

function check(incoming: IncomingMessage, { maxHeaders, maxTargetBytes }: HeadLimits): void {
  const { rawHeaders, url = '' } = incoming
  if (rawHeaders.length > 2 * maxHeaders) throw refusal(431, 'there are too many headers', 'header')
  if (url.length > maxTargetBytes) throw refusal(414, 'the path is too long', 'path')
  // The parser takes a line without a version for HTTP/0.9, which has no headers.
  if (!incoming.httpVersion.startsWith('1.')) throw refusal(400, 'only HTTP/1.1 and 1.0 are spoken')
  const repeated = repeatedOf(rawHeaders)
  if (repeated !== undefined) throw refusal(400, 'the header stands twice', 'header', repeated)
  if (incoming.httpVersion === '1.1' && incoming.headers.host === undefined) {
    throw refusal(400, 'the header is missing', 'header', 'host')
  }
  checkPath(pathOf(url))
}

function repeatedOf(rawHeaders: readonly string[]): string | undefined {
  const seen = new Set<string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!single.has(name)) continue
    if (seen.has(name)) return name
    seen.add(name)
  }
  return undefined
}

/** Without the query, of which nothing is read, and without the origin, which clients write when they speak to a proxy. */
function pathOf(url: string): string {
  const path = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?#]*/i, '')
  return path.replace(/\?.*$/s, '')
}

/**
 * A proxy decides by the path that it sees. One that means another path once dots are resolved, or that readers decode
 * differently, is refused instead of resolved.
 */
function checkPath(path: string): void {
  if (!plainPath.test(path)) throw refusal(400, 'the path has characters that must be percent-encoded', 'path')
  if (dotSegment.test(path)) throw refusal(400, 'the path has dot segments', 'path')
  try {
    decodeURIComponent(path)
  } catch {
    throw refusal(400, 'the path is not percent-encoded UTF-8', 'path')
  }
}

function refusal(status: number, msg: string, ...loc: string[]): ApiError {
  return new ApiError(status, { msg, type: 'malformed', ...(loc.length > 0 && { loc }) })
}
