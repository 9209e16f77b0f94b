/** The headers of a request as a container gets them, and of its answer as clients do: it speaks for nobody but itself. Pure. */
import type { HeaderList } from '../base/request-head.ts'
import { isOfOrigin, trailersFromApp } from '../gateway/policy/from-app.ts'
import { changed, namedByConnection } from '../gateway/policy/names.ts'
import { isToldByProxies, trailersToApp } from '../gateway/policy/to-app.ts'

/** What a client proves itself by is for us alone. */
const credentials = new Set(['authorization', 'cookie', 'origin', 'referer'])
/** Whatever a browser is shown there has no origin, and no cookie of ours is ever replaced. */
const ours = new Set(['set-cookie', 'x-content-type-options'])
/** For caches of others alone (RFC 9213, and what came before it): they obey it instead of `Cache-Control`. */
const isForOtherCaches = (name: string) => name.endsWith('-cache-control') || name.startsWith('surrogate-')
/** Under which a program in the container knows itself. */
const own = /^https?:\/\/(?:localhost|127\.0\.0\.1)(?::(\d{1,5}))?(?=[/?#]|$)/i

export const trailersToContainer = trailersToApp
export const trailersFromContainer = trailersFromApp

/** @param prefix of the container's paths, as clients write them */
export function toContainer(rawHeaders: HeaderList, port: number, prefix: string): string[] {
  const named = namedByConnection(rawHeaders)
  const kept = changed(rawHeaders, (name, value) =>
    credentials.has(name) || named.has(name) || isToldByProxies(name) ? undefined : value,
  )
  return ['Host', `localhost:${port}`, ...kept, 'X-Forwarded-Prefix', prefix]
}

export function fromContainer(headers: HeaderList, port: number, prefix: string): string[] {
  const named = namedByConnection(headers)
  const kept = changed(headers, (name, value) => {
    if (ours.has(name) || isOfOrigin(name) || isForOtherCaches(name) || (named.has(name) && name !== 'content-length'))
      return undefined
    return name === 'location' || name === 'content-location' ? publicLocation(value, port, prefix) : value
  })
  const own = ['Content-Security-Policy', 'sandbox', 'X-Content-Type-Options', 'nosniff']
  return [...(isForItsReader(kept) ? kept : [...withoutCaching(kept), 'Cache-Control', 'private, no-store']), ...own]
}

const withoutCaching = (list: HeaderList) =>
  changed(list, (name, value) => (name === 'cache-control' ? undefined : value))

/** Whether an answer says that no cache of others may keep it. One with a text in quotes could say so in there alone. */
function isForItsReader(list: HeaderList): boolean {
  const values = list.filter((_, i) => i % 2 === 1 && list[i - 1]!.toLowerCase() === 'cache-control')
  const all = values.join(',').toLowerCase()
  const directives = all.split(',').map(each => each.trim())
  const isShared = all.includes('"') || directives.some(each => /^(public|s-maxage)(?![\w-])/.test(each))
  return !isShared && directives.some(each => each === 'private' || each === 'no-store')
}

/** An address in the container as clients can follow it. It may send them anywhere else. */
function publicLocation(location: string, port: number, prefix: string): string {
  const [origin, stated = '80'] = own.exec(location) ?? []
  if (origin !== undefined && Number(stated) !== port) return location
  const path = origin === undefined ? location : location.slice(origin.length)
  if (origin === undefined && (!path.startsWith('/') || path.startsWith('//'))) return location
  // One that reads X-Forwarded-Prefix has put it there itself.
  if (path === prefix || path.startsWith(`${prefix}/`)) return path
  return `${prefix}${path.startsWith('/') ? '' : '/'}${path}`
}
