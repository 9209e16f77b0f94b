/**
 * Reads the target of a request: an app's path, or a page of the gateway itself. An app is chosen by the raw bytes of its id.
 * The rest goes to the app as it was sent, and cannot lead to another one. Pure.
 */
import { appPrefix } from '../../apps/names.ts'
import { hasDotSegment } from '../../base/request-head.ts'

export interface AppTarget {
  readonly kind: 'app'
  readonly id: string
  /** Path and query, as sent. */
  readonly path: string
  /** No slash follows the id: the browser is sent to the path with one, where relative links of the app work. */
  readonly bare: boolean
}

/** A page of the gateway. */
export type OwnTarget =
  | { readonly kind: 'own'; readonly route: 'login' | 'logout' | 'callback'; readonly query: string }
  | { readonly kind: 'own'; readonly route: 'start'; readonly id: string }
  /** The way from the platform to the host of an app, and where it arrives there. */
  | { readonly kind: 'own'; readonly route: 'enter'; readonly id: string; readonly query: string }
  | { readonly kind: 'own'; readonly route: 'entered'; readonly query: string }

export interface RefusedTarget {
  readonly kind: 'refused'
  readonly status: 400 | 404
  /** For people. */
  readonly reason: string
}

export type Target = AppTarget | OwnTarget | RefusedTarget

/** The form of an app's name (contract, "CRDs"). */
const id = '[a-z](?:[-a-z0-9]{0,48}[a-z0-9])?'
const app = new RegExp(`^/console/apps/(${id})(/.*)?$`)
const start = new RegExp(`^/console/start/(${id})$`)
const enter = new RegExp(`^/console/enter/(${id})$`)
const page = /^\/console\/(login|logout|callback)$/
/** A longer one is not kept through a login; the app's first page is shown instead. */
const longestNext = 2048

/** @param raw the target of the request line, of which each character is a byte */
export function readTarget(raw: string): Target {
  const [path, query] = split(raw)
  const fault = faultOf(raw, path)
  if (fault !== undefined) return { kind: 'refused', status: 400, reason: fault }
  const [, appId, rest] = app.exec(path) ?? []
  if (appId !== undefined) return { kind: 'app', id: appId, path: raw, bare: rest === undefined }
  const [, route] = page.exec(path) ?? []
  if (route !== undefined) return { kind: 'own', route: route as 'login', query: query.slice(1) }
  const [, startId] = start.exec(path) ?? []
  if (startId !== undefined) return { kind: 'own', route: 'start', id: startId }
  const [, enterId] = enter.exec(path) ?? []
  if (enterId !== undefined) return { kind: 'own', route: 'enter', id: enterId, query: query.slice(1) }
  if (path === '/console/enter') return { kind: 'own', route: 'entered', query: query.slice(1) }
  return { kind: 'refused', status: 404, reason: 'there is nothing at this address' }
}

/** The query with its question mark, which may be all of it. */
function split(raw: string): [path: string, query: string] {
  const at = raw.indexOf('?')
  return at < 0 ? [raw, ''] : [raw.slice(0, at), raw.slice(at)]
}

/** Finds anything that another reader may read as another path. */
function faultOf(raw: string, path: string): string | undefined {
  if (!path.startsWith('/')) return 'the address does not begin with a slash'
  if (!isVisible(raw)) return 'the address has characters that must be percent-encoded'
  if (path.includes('\\')) return 'the address has a backslash'
  // Few addresses have what such a segment begins with.
  if ((path.includes('/.') || path.includes('/%')) && hasDotSegment(path)) return 'the address has dot segments'
  return undefined
}

/** Visible ASCII without `#`: a reader may cut off what follows it. */
function isVisible(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x21 || code > 0x7e || code === 0x23) return false
  }
  return true
}

/** Where a target without a slash after the id leads: the same with it, and the same query. */
export function withSlash({ id, path }: AppTarget): string {
  const prefix = appPrefix(id)
  return `${prefix}/${path.slice(prefix.length)}`
}

/** The path for the app. With `rewrite` it has no prefix. */
export function pathForApp({ id, path }: AppTarget, { rewrite }: { readonly rewrite: boolean }): string {
  if (!rewrite) return path
  const rest = path.slice(appPrefix(id).length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/** The login page, which leads on to a path of an app. */
export const loginPath = (next: string): string => `/console/login?next=${encodeURIComponent(next)}`

/** A path that leads back to the target, as `checkNext` takes it. */
export const nextTo = ({ id, path }: AppTarget): string => (path.length <= longestNext ? path : `${appPrefix(id)}/`)

/** @returns a path of an app; undefined for anything else, such as another site */
export function checkNext(next: string | null | undefined): string | undefined {
  if (!next || next.length > longestNext) return undefined
  const target = readTarget(next)
  return target.kind === 'app' ? target.path : undefined
}

/** The `next` of the login page's query; undefined where there is none, or two. */
export const nextOf = (query: string): string | undefined => checkNext(oneOf(query, 'next'))

/** A parameter of a query; undefined where there is none, or two. */
export function oneOf(query: string, name: string): string | undefined {
  const all = new URLSearchParams(query).getAll(name)
  return all.length === 1 ? all[0] : undefined
}

/** A `next` as `checkNext` returned it, if it is of this app; else its first page. */
export function nextIn(next: string | undefined, id: string): string {
  const target = next === undefined ? undefined : readTarget(next)
  return target?.kind === 'app' && target.id === id ? target.path : `${appPrefix(id)}/`
}
