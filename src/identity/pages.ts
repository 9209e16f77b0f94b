/** Changes that a page in a browser asks for, where cookies say who is asking. */
import { ApiError } from '../base/errors.ts'

/**
 * A browser adds its user's cookies to what any page of the same host asks for: the page of a lab, too. It says itself by
 * `Sec-Fetch-Site` and `Origin` that a page asks, and from which origin: no script can change or leave out these two.
 * The path of the page is in `Referer` at most, which scripts can change: so pages of one origin are all alike.
 * @param origins whose pages may
 * @throws {ApiError} 403
 */
export function requireNoPage(headers: Headers, origins: readonly string[]): void {
  const site = headers.get('sec-fetch-site') ?? 'none'
  const origin = headers.get('origin') ?? originOf(headers.get('referer'))
  if (site === 'none' && origin === undefined) return
  if (origin !== undefined && origins.includes(origin)) return
  const msg = 'the request comes from a page in a browser, whose origin is none of identity.gafaelfawr.pageOrigins'
  throw new ApiError(403, { msg, type: 'forbidden', loc: ['header', 'origin'] })
}

function originOf(referer: string | null): string | undefined {
  return referer === null ? undefined : (URL.parse(referer)?.origin ?? 'null')
}
