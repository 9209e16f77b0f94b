/** Addresses in answers of apps, as visitors can follow them. Pure. */
import { appPrefix } from '../../apps/names.ts'
import type { AppRoute } from '../../base/app-route.ts'
import type { Site } from './site.ts'

/** Scheme or none, host and port, the rest. */
const absolute = /^(?:https?:)?\/\/([^/?#\\]*)(.*)$/is
/** The delay, what precedes the address, the quote, and the address. */
const refresh = /^(\s*[\d.]+\s*[;,]?\s*(?:url\s*=\s*)?)(["']?)(.*)$/is

/**
 * An address at the app's own host becomes the public one; with `rewrite` a path gets its prefix. All others stay as they
 * are: an app may send its visitors anywhere.
 */
export function publicLocation(location: string, route: AppRoute, site: Site): string {
  const [, authority, rest] = absolute.exec(location) ?? []
  if (authority !== undefined) {
    return isOwnHost(authority, route, site) ? site.origin + publicPath(rest!, route) : location
  }
  return location.startsWith('/') ? publicPath(location, route) : location
}

/** A `Refresh` whose address is public. */
export function publicRefresh(value: string, route: AppRoute, site: Site): string {
  const [, before, quote, address] = refresh.exec(value) ?? []
  if (before === undefined || address === '') return value
  return before + quote + publicLocation(address!, route, site)
}

/** Hosts under which the app knows itself: what it got as `Host`, and the address of its Service. */
function isOwnHost(authority: string, { host, address, passHost }: AppRoute, site: Site): boolean {
  const own = [host, ...(address ? [addressText(address)] : []), ...(passHost ? [site.host] : [])]
  const asked = authority.toLowerCase()
  // Libraries leave the port of plain HTTP out.
  return own.map(each => each.toLowerCase()).some(each => asked === each || `${asked}:80` === each)
}

const addressText = ({ ip, port }: { ip: string; port: number }) => `${ip.includes(':') ? `[${ip}]` : ip}:${port}`

/** @param path what follows the host: empty, or from its slash, `?` or `#` on */
function publicPath(path: string, { id, rewrite }: AppRoute): string {
  const whole = path.startsWith('/') ? path : `/${path}`
  const prefix = appPrefix(id)
  // An app that reads X-Forwarded-Prefix has put it there itself.
  const isPublic = whole === prefix || whole.startsWith(`${prefix}/`)
  return rewrite && !isPublic ? prefix + whole : whole
}
