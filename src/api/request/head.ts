/** Checks the head of a request beyond Node's parser, so that every reader reads it in the same way. */
import type { IncomingMessage } from 'node:http'
import { createMiddleware } from 'hono/factory'
import { ApiError } from '../../base/errors.ts'
import type { Limits } from '../../config/limits.ts'
import type { ApiEnv, Head } from './env.ts'

export type HeadLimits = Pick<Limits, 'maxHeaders' | 'maxTargetBytes'>

/** Headers that must not repeat: a proxy in front may have validated the other copy. */
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

/** Characters that may be in a path unencoded. */
const plainPath = /^[!$%&-;=@-Z_a-z~]*$/
/** A name, an IPv4 address, or an IPv6 address in brackets; then an optional port. */
const authority = /^(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/is
const dotSegment = /\/(\.|%2e){1,2}(?=\/|$)/i

/**
 * Reads and checks a head, then replaces target and Host by the result, so that neither the query nor a host of the
 * client's choice gets into a URL that is made of them later.
 */
export function settleHead(incoming: IncomingMessage, limits: HeadLimits): Head {
  const head = readHead(incoming, limits)
  incoming.url = head.path
  incoming.headers.host = 'localhost'
  return head
}

/** Middleware before all others that use a request: 400, 414, 431. */
export const refuseBadHead = createMiddleware<ApiEnv>(async function refuseBadHead(c, next) {
  const refusal = c.env?.head?.refusal
  if (refusal) throw refusal
  await next()
})

function readHead(incoming: IncomingMessage, limits: HeadLimits): Head {
  try {
    check(incoming, limits)
    return { path: pathOf(incoming.url ?? '') }
  } catch (error) {
    if (error instanceof ApiError) return { path: '/', refusal: error }
    throw error
  }
}

function check(incoming: IncomingMessage, { maxHeaders, maxTargetBytes }: HeadLimits): void {
  const { rawHeaders, url = '', httpVersion, headers } = incoming
  if (rawHeaders.length > 2 * maxHeaders) throw refusal(431, 'there are too many headers', 'header')
  if (url.length > maxTargetBytes) throw refusal(414, 'the path is too long', 'path')
  // The parser reads a line without a version as HTTP/0.9, which has no headers.
  if (!httpVersion.startsWith('1.')) throw refusal(400, 'only HTTP/1.1 and 1.0 are spoken')
  const repeated = repeatedOf(rawHeaders)
  if (repeated !== undefined) throw refusal(400, 'the header is repeated', 'header', repeated)
  if (headers.host !== undefined) checkAuthority(headers.host, 'header', 'host')
  else if (httpVersion !== '1.0') throw refusal(400, 'the header is missing', 'header', 'host')
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

/**
 * The path of a request target: without the query, which is never used, and without the origin, which clients of
 * proxies send.
 * @throws {ApiError} 400 for a target that another reader may read as another path
 */
export function pathOf(target: string): string {
  const [, origin, rest = target] = absoluteForm.exec(target) ?? []
  if (origin !== undefined) checkAuthority(origin, 'path')
  const path = rest.replace(/\?.*$/s, '') || (origin === undefined ? '' : '/')
  if (!path.startsWith('/')) throw refusal(400, 'the path does not begin with a slash', 'path')
  checkPath(path)
  return path
}

function checkAuthority(text: string, ...loc: string[]): void {
  if (!authority.test(text)) throw refusal(400, 'not the name or address of a host', ...loc)
}

/**
 * A proxy decides by the path that it sees. A path that changes when dots are resolved, or that readers decode
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

/** The path that was checked; parameters in it are decoded once. A request without a head has no route. */
export function checkedPath(_: Request, options?: { env?: ApiEnv['Bindings'] }): string {
  return options?.env?.head?.path ?? ''
}
