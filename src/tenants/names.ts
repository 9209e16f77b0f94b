/** Names of a tenant's objects, and back. No two names are equal unless they are of the same tenant or user. Pure. */

/** In the tenant's namespace. */
export const platformName = 'lns-platform'
export const developerName = 'lns-developer'
export const sudoerName = 'lns-sudoer'

const groupEnd = '-sudoers'
const selfStart = 'lns:self:'

/** The group that has all rights in a tenant's namespace, for users who may impersonate it. */
export const sudoGroup = (tenant: string): string => `${tenant}${groupEnd}`

/** The cluster role, and its binding, to edit the LNamespace. */
export const editName = (tenant: string): string => `lns:edit:${tenant}`
/** The cluster role, and its binding, to impersonate the group. */
export const sudoName = (tenant: string): string => `lns:sudo:${tenant}`
/** The cluster role, and its binding, of a user to impersonate himself. */
export const selfName = (user: string): string => `${selfStart}${escaped(user)}`

/**
 * ESC: a name of a user in the name of an RBAC object, which may contain neither `/` nor `%`. A policy computes the same by
 * `replace`, in this order.
 */
export const escaped = (name: string): string =>
  name.replaceAll('=', '=3D').replaceAll('/', '=2F').replaceAll('%', '=25')

const escapes: Readonly<Record<string, string>> = { '3D': '=', '2F': '/', '25': '%' }

/** @returns undefined for what is no result of `escaped` */
export function unescaped(text: string): string | undefined {
  const name = text.replace(/=(3D|2F|25)/g, (_, code: string) => escapes[code]!)
  return escaped(name) === text ? name : undefined
}

export const tenantOfGroup = (group: string): string | undefined =>
  group.length > groupEnd.length && group.endsWith(groupEnd) ? group.slice(0, -groupEnd.length) : undefined

/** The tenant whose cluster role, or binding, has this name. */
export const tenantOfName = (name: string): string | undefined => /^lns:(?:edit|sudo):(.+)$/.exec(name)?.[1]

/** The user whose cluster role, or binding, has this name. */
export const userOfName = (name: string): string | undefined =>
  name.startsWith(selfStart) ? unescaped(name.slice(selfStart.length)) || undefined : undefined
