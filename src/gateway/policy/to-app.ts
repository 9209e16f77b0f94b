/** The headers of a request as an app gets them. Pure. */
import { appPrefix } from '../../apps/names.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { remembered } from '../../base/remembered.ts'
import type { HeaderList } from '../../base/request-head.ts'
import { cookiesForApp } from './cookies.ts'
import { changed, hopByHop, namedByConnection, namesOf } from './names.ts'
import type { Site } from './site.ts'

export interface ToAppFacts {
  readonly site: Site
  /** The address of the visitor, as far as trusted proxies tell it. */
  readonly address?: string | undefined
  /** The logged-in user; absent where the app is public, or nobody is logged in. */
  readonly user?: string | undefined
  /** The identity source does not know the `Authorization` of this request: it may be the app's. */
  readonly isForeignAuthorization: boolean
}

/** Headers by which proxies inform apps. An app must not believe one that a visitor wrote. */
const toldByProxies = [
  ...['forwarded', 'x-forwarded-*', 'x-real-ip', 'x-auth-request-*', 'x-original-*', 'x-skylab-*', 'x-rewrite-url'],
  // Rack and its like let these choose how a file is answered.
  ...['x-accel-*', 'x-sendfile*'],
  ...['x-client-ip', 'x-cluster-client-ip', 'true-client-ip', 'remote-user', 'x-remote-*', 'x-webauth-*'],
]
const listed = namesOf([...hopByHop, ...toldByProxies, 'host'])
/** Also what holds for one connection. WSGI and CGI read `X_Forwarded_User`, and some `X.Forwarded.User`, as `X-Forwarded-User`. */
export const isToldByProxies = remembered(name => listed(name) || !/^[-a-z0-9]+$/.test(name))
/** Node writes each character as a byte. */
const latin1 = remembered(text => Buffer.from(text).toString('latin1'))

/**
 * The list for the pump, which adds what frames the body. `Host` is that of the app's Service, so that an app which makes
 * links of it reveals none of ours.
 */
export function toApp(rawHeaders: HeaderList, route: AppRoute, facts: ToAppFacts): string[] {
  const isDropped = droppedFrom(rawHeaders)
  const passesAuthorization = route.passAuthorization && facts.isForeignAuthorization
  const change = (name: string, value: string) => {
    if (isDropped(name)) return undefined
    if (name === 'authorization') return passesAuthorization ? value : undefined
    return name === 'cookie' ? cookiesForApp(value) : value
  }
  const list = changed(rawHeaders, change, ['Host', route.passHost ? facts.site.host : route.host])
  tell(list, route, facts)
  return list
}

/** Trailers of a request as an app gets them: some apps take them for headers. */
export function trailersToApp(rawTrailers: HeaderList): string[] {
  const isDropped = droppedFrom(rawTrailers)
  const isCredential = (name: string) => name === 'authorization' || name === 'cookie'
  return changed(rawTrailers, (name, value) => (isDropped(name) || isCredential(name) ? undefined : value))
}

function droppedFrom(list: HeaderList): (name: string) => boolean {
  const named = namedByConnection(list)
  return named.size === 0 ? isToldByProxies : name => isToldByProxies(name) || named.has(name)
}

function tell(list: string[], route: AppRoute, { site, address, user }: ToAppFacts): void {
  if (address !== undefined) list.push('X-Forwarded-For', address)
  list.push('X-Forwarded-Proto', site.proto, 'X-Forwarded-Host', site.host, 'X-Forwarded-Prefix', appPrefix(route.id))
  if (user !== undefined && route.audience.kind !== 'public') list.push('X-Forwarded-User', latin1(user))
}
