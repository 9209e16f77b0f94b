/**
 * Requests that pages of other origins have browsers send. Hosts of apps are of one site, so `SameSite` lets the session of one app
 * go with what a page of another one sends. Pure.
 */
import type { IncomingMessage } from 'node:http'
import type { Site } from '../policy/site.ts'

type Head = Pick<IncomingMessage, 'method' | 'headers'>

/**
 * Whether a page of another origin may be behind a request. Then the session in it is no sign that its visitor wants it. To open
 * an app as the page that a tab shows is everybody's right: a link does so.
 */
export function isOfOtherPage(head: Head, { origin: own }: Site): boolean {
  if (isTopLevel(head) === true) return false
  const { origin, 'sec-fetch-site': from } = head.headers
  // Of its own page too, where that tells no referrer. A browser says so beside it, also of what a sandbox or a redirect hides.
  const isUntold = origin === 'null' && from === 'same-origin'
  if (origin !== undefined && origin !== own && !isUntold) return true
  return from !== undefined && from !== 'same-origin' && from !== 'none'
}

/**
 * Whether a tab is to show the answer, and no frame; undefined where the browser is too old to say. A look ahead that another page has
 * asked for is shown by no tab so far.
 */
export function isTopLevel({ method, headers }: Head): boolean | undefined {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': to, 'sec-fetch-site': from, 'sec-purpose': purpose } = headers
  if (mode === undefined && to === undefined) return undefined
  if (/prefetch/i.test(String(purpose ?? '')) && from !== 'same-origin' && from !== 'none') return false
  return (method === 'GET' || method === 'HEAD') && mode === 'navigate' && to === 'document'
}
