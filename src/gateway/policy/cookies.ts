/** The gateway's own cookies, and the cookies that go to and come from apps. Pure. */
import { appPrefix } from '../../apps/names.ts'
import { lowerOf, remembered } from '../../base/remembered.ts'
import type { HeaderList } from '../../base/request-head.ts'
import { type Names, namesOf } from './names.ts'

/**
 * Browsers accept `__Host-` only with `Secure` and `Path=/`, and without `Domain`: no other host can set it. Those that know
 * `__Host-Http-` accept it only from a server and with `HttpOnly`: no script can set it, so no app gives its visitor a login.
 */
export const loginCookie = '__Host-Http-skylab-login'
/** Seed 001, "session". Each app has its own, by its path. */
export const sessionCookie = 'phapplication-session-id'

/** The most ids of each kind: an app's script can set as many as a browser takes. */
const mostTried = 4
/** 32 random bytes in base64url. */
const idForm = /^[\w-]{43}$/

/**
 * Names in lower case that no app sees and none may set: ours, and those by which Gafaelfawr and JupyterHub know people on
 * the same host.
 */
const reserved: Names = namesOf(['phapplication-*', '__host-*', 'gafaelfawr', 'jupyterhub-*'])
const isReserved = (name: string) => reserved(lowerOf(name))

/** Possible ids of a visitor's login and app session. They still have to be known. */
export interface OwnCookies {
  readonly login: readonly string[]
  readonly session: readonly string[]
}

/** Browsers send the same cookies again and again. Longer ones are read each time. */
const longestRemembered = 1024

/** Reads the gateway's cookies; of many it takes the first, which have the longest path. */
export function cookiesOf(rawHeaders: HeaderList): OwnCookies {
  let found = none
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (lowerOf(rawHeaders[i]!) !== 'cookie') continue
    const more = ownCookiesIn(rawHeaders[i + 1]!)
    found = found === none ? more : joined(found, more)
  }
  return found
}

const none: OwnCookies = { login: [], session: [] }

const ownCookiesIn = remembered((header): OwnCookies => {
  const login: string[] = []
  const session: string[] = []
  for (const pair of header.split(';')) {
    const [name, value] = nameAndValue(pair)
    if (name === loginCookie) add(login, value)
    else if (name === sessionCookie) add(session, value)
  }
  return { login, session }
}, longestRemembered)

/** Node gives all headers of the name as they came, which may be many. */
function joined(first: OwnCookies, more: OwnCookies): OwnCookies {
  const both = { login: [...first.login], session: [...first.session] }
  for (const value of more.login) add(both.login, value)
  for (const value of more.session) add(both.session, value)
  return both
}

function add(ids: string[], value: string): void {
  if (ids.length < mostTried && idForm.test(value) && !ids.includes(value)) ids.push(value)
}

/** Cookies whose names begin so; of two with one name the first. */
export function beginsWith(rawHeaders: HeaderList, prefix: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() !== 'cookie') continue
    for (const pair of rawHeaders[i + 1]!.split(';')) {
      const [name, value] = nameAndValue(pair)
      if (name.startsWith(prefix) && /^[\w-]+$/.test(name) && !found.has(name)) found.set(name, value)
    }
  }
  return found
}

/** A `Cookie` header without what no app may see; undefined where nothing is left. */
export const cookiesForApp = (header: string): string | undefined => keptForApp(header) || undefined

const keptForApp = remembered(header => {
  const kept = header.split(';').filter(pair => pair.trim() !== '' && !isReserved(nameAndValue(pair)[0]))
  return kept.join(';').trim()
}, longestRemembered)

/**
 * A `Set-Cookie` of an app, which browsers send back to this app alone; undefined where the name is not the app's to set.
 * @param prefix of the app's public paths
 * @param rewrite whether the app's paths lack the prefix
 */
export function setCookieOfApp(header: string, prefix: string, rewrite: boolean): string | undefined {
  const [pair = '', ...attributes] = header.split(';')
  const [name] = nameAndValue(pair)
  // Without a name, browsers send the value alone, which may read as a pair.
  if (name === '' || !pair.includes('=') || isReserved(name)) return undefined
  const named = attributes.map(attribute => ({ attribute, name: nameAndValue(attribute)[0].toLowerCase() }))
  const kept = named.filter(each => each.name !== 'domain' && each.name !== 'path').map(each => each.attribute)
  const path = named.findLast(each => each.name === 'path')
  const value = path === undefined ? '' : nameAndValue(path.attribute)[1]
  return [pair, ...kept, ` Path=${pathUnder(prefix, value, rewrite)}`].join(';')
}

/** A path elsewhere becomes the whole app: the app sees no other path than its own. */
function pathUnder(prefix: string, path: string, rewrite: boolean): string {
  if (path === prefix || path.startsWith(`${prefix}/`)) return path
  return rewrite && path.startsWith('/') && path !== '/' ? prefix + path : prefix
}

/** A pair without `=` is a name without a value. */
function nameAndValue(pair: string): [name: string, value: string] {
  const at = pair.indexOf('=')
  return at < 0 ? [stripped(pair), ''] : [stripped(pair.slice(0, at)), stripped(pair.slice(at + 1))]
}

/** Strips the same as browsers. `trim` strips more, such as U+00A0: with it a script can set a name that is else forbidden to it. */
function stripped(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from += 1
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1
  return text.slice(from, to)
}

const isBlank = (code: number) => code === 0x20 || code === 0x09

/** A cookie of the whole site. */
export const setCookie = (name: string, value: string, maxAgeSeconds: number): string =>
  `${name}=${value}; Path=/; Max-Age=${Math.floor(maxAgeSeconds)}; ${ownAttributes}`

export const clearCookie = (name: string): string => setCookie(name, '', 0)

/** @param id of a login. @param maxAgeSeconds the life of a login */
export const setLoginCookie = (id: string, maxAgeSeconds: number): string => setCookie(loginCookie, id, maxAgeSeconds)

/** It ends with the browser, and earlier with its entry in Redis. */
export const setSessionCookie = (appId: string, id: string): string =>
  `${sessionCookie}=${id}; Path=${appPrefix(appId)}; ${ownAttributes}`

/** A cookie of the whole site that ends with the browser. */
export const setBrowserCookie = (name: string, value: string): string => `${name}=${value}; Path=/; ${ownAttributes}`

export const clearLoginCookie = (): string => clearCookie(loginCookie)

const ownAttributes = 'Secure; HttpOnly; SameSite=Lax'
