/** The names of an app's objects (seed 001, "Controller"), and labels with the names of groups. Pure. */
import { createHash } from 'node:crypto'

/** `app-<id>` is a label, and so are the names of its policies. */
const idForm = /^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$/

/** Whether a name is that of an app. */
export const isAppId = (name: string): boolean => idForm.test(name)

/** The Deployment, the Service and `status.serviceName` of an app. */
export const appObjectName = (id: string): string => `app-${id}`

/** The policy that lets pods of the group in. */
export const groupPolicyName = (id: string): string => `app-${id}-group`

/** The policy that lets the gateway in. */
export const proxyPolicyName = (id: string): string => `app-${id}-proxy`

/** The container that makes the folder of an app. */
export const initName = (id: string): string => `init-${id}`

/** The prefix of an app on the platform's own origin (seed 001, "PRIMEHUB_APP_BASE_URL"). */
export const appPrefix = (id: string): string => `/console/apps/${id}`

const escapedStart = 'escaped-'
const hashedStart = 'hashed-'
const maxLabel = 63

/**
 * The name of a group as the value of a label: each byte but a–z and 0–9 becomes `-xx`. A result that is too long is a hash
 * instead, which nothing can read: compare it with `groupLabel` of the groups that you know.
 */
export function groupLabel(group: string): string {
  // Most names are such, and each look at an app needs some.
  if (/^[a-z0-9]{1,55}$/.test(group)) return escapedStart + group
  const bytes = [...Buffer.from(group, 'utf8')]
  const escaped = escapedStart + bytes.map(escapedByte).join('')
  if (escaped.length <= maxLabel) return escaped
  return hashedStart + createHash('sha256').update(group, 'utf8').digest('hex').slice(0, 40)
}

function escapedByte(byte: number): string {
  const text = String.fromCharCode(byte)
  return /[a-z0-9]/.test(text) ? text : `-${byte.toString(16).padStart(2, '0')}`
}

/** @returns undefined for what is no result of `groupLabel`, and for a hash */
export function groupOfLabel(label: string): string | undefined {
  if (!/^escaped-(?:[a-z0-9]|-[0-9a-f]{2})+$/.test(label)) return undefined
  const text = label.slice(escapedStart.length)
  const bytes = [...text.matchAll(/-([0-9a-f]{2})|([a-z0-9])/g)].map(([, hex, plain]) =>
    hex === undefined ? plain!.charCodeAt(0) : Number.parseInt(hex, 16),
  )
  const group = Buffer.from(bytes).toString('utf8')
  return groupLabel(group) === label ? group : undefined
}
