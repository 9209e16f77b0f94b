/** The headers of an app's answer as visitors get them. All apps have one origin, so none may speak for it. Pure. */
import { appPrefix } from '../../apps/names.ts'
import type { AppRoute } from '../../base/app-route.ts'
import type { HeaderList } from '../../base/request-head.ts'
import { setCookieOfApp } from './cookies.ts'
import { publicLocation, publicRefresh } from './locations.ts'
import { changed, hopByHop, namedByConnection, namesOf } from './names.ts'
import type { Site } from './site.ts'

/** Headers that hold for the whole origin, or for more than the path of their own answer. */
const ofOrigin = [
  ...['service-worker-allowed', 'clear-site-data', 'strict-transport-security', 'alt-svc', 'public-key-pins*'],
  // Reports about other apps' pages would go to an address of this app's choice.
  ...['nel', 'report-to'],
  ...['set-cookie2', 'set-login', 'use-as-dictionary', 'sec-session-registration', 'secure-session-registration'],
]
/** Headers that proxies before the gateway obey: with some a file of theirs becomes the answer. */
const ofProxies = [
  ...['x-accel-*', 'x-reproxy*', 'x-sendfile*', 'x-lighttpd-*', 'x-litespeed-*', 'x-auth-request-*', 'x-forwarded-*'],
  ...['x-skylab-*', 'x-original-*'],
]
/** Also what holds for one connection, and what proxies obey. */
export const isOfOrigin = namesOf([...hopByHop, ...ofOrigin, ...ofProxies])
const isOfHead = namesOf(['set-cookie', 'location', 'content-location', 'refresh', 'content-length'])

/** The list for the visitor. It serves final answers, informational ones and the one that changes the protocol. */
export function fromApp(headers: HeaderList, route: AppRoute, site: Site): string[] {
  const named = namedByConnection(headers)
  // An app cannot hide where its body ends.
  const isDropped = (name: string) =>
    isOfOrigin(name) || (named.size > 0 && named.has(name) && name !== 'content-length')
  return changed(headers, (name, value) => {
    if (isDropped(name)) return undefined
    switch (name) {
      case 'set-cookie':
        return setCookieOfApp(value, appPrefix(route.id), route.rewrite)
      case 'location':
      case 'content-location':
        return publicLocation(value, route, site)
      case 'refresh':
        return publicRefresh(value, route, site)
      default:
        return value
    }
  })
}

/** Trailers of an answer as visitors get them: what a head has a meaning for stays out. */
export function trailersFromApp(trailers: HeaderList): string[] {
  return changed(trailers, (name, value) => (isOfOrigin(name) || isOfHead(name) ? undefined : value))
}
