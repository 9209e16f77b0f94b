/** Checks the head of a request beyond Node's parser, so that every reader reads it in the same way. */
import type { IncomingMessage } from 'node:http'
import { createMiddleware } from 'hono/factory'
import { ApiError } from '../../base/errors.ts'
import { checkAuthority, checkHead, type HeadLimits, hasDotSegment, malformed } from '../../base/request-head.ts'
import type { ApiEnv, Head } from './env.ts'

/** Headers that must not repeat: a proxy in front may have validated the other copy. */
const single = new Set([
  'authorization',
  'content-encoding',
  'content-type',
  'host',
  'idempotency-key',
  'if-match',
  'last-event-id',
  'x-auth-request-token',
  'x-auth-request-user',
  'x-skylab-ingress-secret',
])

/** Characters that may be in a path unencoded. */
const plainPath = /^[!$%&-;=@-Z_a-z~]*$/
const absoluteForm = /^https?:\/\/([^/?#]*)(.*)$/is

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
    checkHead(incoming, limits, single)
    return headOf(incoming.url ?? '')
  } catch (error) {
    if (error instanceof ApiError) return { path: '/', refusal: error }
    throw error
  }
}

/** The parts of a request target. @throws as `pathOf` */
export function headOf(target: string): Head {
  const at = target.indexOf('?')
  return { path: pathOf(target), ...(at >= 0 && { query: target.slice(at + 1) }) }
}

/**
 * The path of a request target: without the query, which most routes never read, and without the origin, which clients of
 * proxies send.
 * @throws {ApiError} 400 for a target that another reader may read as another path
 */
export function pathOf(target: string): string {
  const [, origin, rest = target] = absoluteForm.exec(target) ?? []
  if (origin !== undefined) checkAuthority(origin, 'path')
  const path = rest.replace(/\?.*$/s, '') || (origin === undefined ? '' : '/')
  if (!path.startsWith('/')) throw malformed(400, 'the path does not begin with a slash', 'path')
  checkPath(path)
  return path
}

/**
 * A proxy decides by the path that it sees. A path that changes when dots are resolved, or that readers decode
 * differently, is refused instead of resolved.
 */
function checkPath(path: string): void {
  if (!plainPath.test(path)) throw malformed(400, 'the path has characters that must be percent-encoded', 'path')
  if (hasDotSegment(path)) throw malformed(400, 'the path has dot segments', 'path')
  try {
    decodeURIComponent(path)
  } catch {
    throw malformed(400, 'the path is not percent-encoded UTF-8', 'path')
  }
}

/** The path that was checked; parameters in it are decoded once. A request without a head has no route. */
export function checkedPath(_: Request, options?: { env?: ApiEnv['Bindings'] }): string {
  return options?.env?.head?.path ?? ''
}
