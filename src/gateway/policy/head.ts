/** The rules of the gateway for heads, beyond those that all of Skylab has: who is meant, and what may be asked. Pure. */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../base/errors.ts'
import { checkHead, type HeadLimits, malformed, type RequestHead } from '../../base/request-head.ts'
import type { Hosts, Place } from './hosts.ts'
import { isOurOrigin, type Site } from './site.ts'

/** Headers that must not repeat: the gateway decides by them, and an app may read the other copy. */
const single = new Set([
  ...['authorization', 'content-length', 'content-type', 'expect', 'host', 'origin', 'range', 'sec-fetch-mode'],
  ...['sec-websocket-key', 'sec-websocket-version', 'transfer-encoding', 'upgrade'],
])

/** The part of a request that the rules read. */
export type GatewayHead = RequestHead & Pick<IncomingMessage, 'method'>

/**
 * Refuses a head that the gateway does not carry. An upgrade has further rules.
 * @returns the host that it names
 * @throws {ApiError} 400, 405, 414, 421, 431
 */
export function checkGatewayHead(head: GatewayHead, limits: HeadLimits, hosts: Pick<Hosts, 'of'>): Place {
  checkHead(head, limits, single)
  const { host } = head.headers
  if (host === undefined) throw malformed(400, 'the header is missing', 'header', 'host')
  const place = hosts.of(host)
  if (!place) throw malformed(421, 'this is another host', 'header', 'host')
  if (!isMethodAllowed(head.method)) throw notAllowed('the method is not served')
  return place
}

/** `CONNECT` would make a tunnel, and `TRACE` shows an app's answer the headers that the gateway added. */
export const isMethodAllowed = (method: string | undefined): boolean => method !== 'CONNECT' && method !== 'TRACE'

/**
 * Refuses an upgrade to anything but WebSocket, and one that a page of another site asks for: browsers send cookies with
 * such an upgrade, and let that page read what comes.
 * @throws {ApiError} 403, 405
 */
export function checkUpgrade({ method, httpVersion, headers }: GatewayHead, site: Site): void {
  const isWebSocket = method === 'GET' && httpVersion === '1.1' && headers.upgrade?.toLowerCase() === 'websocket'
  if (!isWebSocket) throw notAllowed('only WebSocket is served beside HTTP')
  if (isOurOrigin(headers.origin, site)) return
  throw new ApiError(403, { msg: 'the origin is another one', type: 'forbidden', loc: ['header', 'origin'] })
}

/**
 * Whether a browser is to show the answer as a page. Then it is sent to the login; a script or a program gets 401.
 * A client that does not say so is judged by what it accepts.
 */
export function isNavigation({ method, headers }: Pick<GatewayHead, 'method' | 'headers'>): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const mode = headers['sec-fetch-mode']
  return mode === undefined ? /\btext\/html\b/i.test(headers.accept ?? '') : mode === 'navigate'
}

const notAllowed = (msg: string) => new ApiError(405, { msg, type: 'method_not_allowed' }, { Allow: served })
const served = 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS'
