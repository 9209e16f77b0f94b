/** Refuses changes that a web page requests, where cookies identify the user. */
import { ApiError } from '../base/errors.ts'

/**
 * A browser adds its user's cookies to requests of every page of the same host, including the page of a lab. It states
 * in `Sec-Fetch-Site` and `Origin` that a page sends the request, and from which origin; no script can change or omit
 * these two. The path of the page is at most in `Referer`, which scripts can change, so pages of one origin are equal.
 * @param origins origins whose pages may request changes
 * @throws {ApiError} 403
 */
export function requireNoPage(headers: Headers, origins: readonly string[]): void {
  if (!isOfPage(headers, origins)) return
  const msg = 'the request comes from a page in a browser, whose origin is none of identity.gafaelfawr.pageOrigins'
  throw new ApiError(403, { msg, type: 'forbidden', loc: ['header', 'origin'] })
}

/** Whether a page of another origin than these sends the request. */
export function isOfPage(headers: Headers, origins: readonly string[] = []): boolean {
  const site = headers.get('sec-fetch-site') ?? 'none'
  const origin = headers.get('origin') ?? originOf(headers.get('referer'))
  if (site === 'none' && origin === undefined) return false
  return origin === undefined || !origins.includes(origin)
}

function originOf(referer: string | null): string | undefined {
  return referer === null ? undefined : (URL.parse(referer)?.origin ?? 'null')
}
