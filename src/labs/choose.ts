/** What of a request a lab is made with: whether this user may have one, and its size. Pure. */
import type { Config } from '../config/schema.ts'
import type { Group, Identity, LabOptions, NotebookQuota, Quotas, Resources } from '../domain.ts'
import type { ErrorDetail } from '../errors.ts'
import { ApiError, invalid } from '../errors.ts'
import { formatBytes } from '../kube/quantity.ts'

/** Who a lab runs as, and with what. */
export interface LabChoice {
  readonly uid: number
  readonly gid: number
  /** Name of the size. */
  readonly size: string
  readonly quotas: Quotas
}

/** A size, as the form offers it. */
export interface OfferedSize extends Quotas {
  readonly name: string
}

type LabSettings = Pick<Config['lab'], 'sizes' | 'defaultSize'>

/** The largest number that Kubernetes takes for a user or group. */
const maxId = 2 ** 31 - 1

/**
 * Settles identity and size before anything is looked up. A size fits a quota by its limits (SQR-066, "Pod
 * configuration" and "Labs for bot users").
 * @throws {ApiError} 403 without UID or GID, with a quota that forbids labs or that the size does not fit; 422 for a size
 *   that does not exist
 */
export function chooseLab(lab: LabSettings, identity: Identity, options: LabOptions): LabChoice {
  if (identity.quota?.spawn === false) throw forbidden('Your quota does not allow labs')
  const ids = checkIds(identity)
  const size = options.size ?? lab.defaultSize
  const quotas = quotasOfSize(lab, size)
  const excess = excessOf(quotas.limits, identity.quota)
  if (excess) {
    const which = options.size === undefined ? `The default size ${size}` : `The size ${size}`
    throw forbidden(`${which} is more than your quota allows: ${excess}`, 'body', 'options', 'size')
  }
  return { ...ids, size, quotas }
}

/**
 * Limits and requests of a size. Requests that are not configured are a quarter of the limits.
 * @throws {ApiError} 422 when there is no such size
 */
export function quotasOfSize(lab: LabSettings, size: string): Quotas {
  const found = Object.hasOwn(lab.sizes, size) ? lab.sizes[size] : undefined
  if (!found) {
    const known = Object.keys(lab.sizes).join(', ')
    throw invalid(`There is no such size, only ${known}`, 'body', 'options', 'size')
  }
  return { limits: found.limits, requests: found.requests ?? quarterOf(found.limits) }
}

/** The sizes that `chooseLab` would not refuse this user, in the order of the configuration. */
export function sizesFor(lab: LabSettings, { quota }: Pick<Identity, 'quota'>): readonly OfferedSize[] {
  const sizes = Object.keys(lab.sizes).map(name => ({ name, ...quotasOfSize(lab, name) }))
  return sizes.filter(({ limits }) => excessOf(limits, quota) === '')
}

/** Kubernetes has no finer share than a thousandth of a CPU, and no part of a byte. */
function quarterOf({ cpu, memory }: Resources): Resources {
  return { cpu: Math.ceil(cpu * 250) / 1000, memory: Math.ceil(memory / 4) }
}

function excessOf(limits: Resources, quota: NotebookQuota | undefined): string {
  const excess: string[] = []
  if (quota?.cpu !== undefined && limits.cpu > quota.cpu) excess.push(`${limits.cpu} CPUs of ${quota.cpu}`)
  if (quota?.memoryBytes !== undefined && limits.memory > quota.memoryBytes) {
    excess.push(`${formatBytes(limits.memory)} of memory of ${formatBytes(quota.memoryBytes)}`)
  }
  return excess.join(', ')
}

function checkIds({ uid, gid, groups }: Identity): { uid: number; gid: number } {
  if (uid === undefined) throw forbidden('You have no UID, without which you cannot have a lab')
  if (gid === undefined) throw forbidden('You have no primary GID, without which you cannot have a lab')
  if (uid === 0) throw forbidden('Your UID is 0, and labs do not run as root')
  for (const [kind, id] of [['UID', uid], ['GID', gid], ...groups.map(gidOf)] as const) {
    if (id !== undefined && !isId(id)) throw forbidden(`Your ${kind} ${id} is none that a lab can run with`)
  }
  return { uid, gid }
}

function gidOf({ name, id }: Group): readonly [string, number | undefined] {
  return [`group ${name}'s GID`, id]
}

function isId(id: number): boolean {
  return Number.isInteger(id) && id >= 0 && id <= maxId
}

function forbidden(msg: string, ...loc: string[]): ApiError {
  const detail: ErrorDetail = { msg, type: 'forbidden' }
  return new ApiError(403, loc.length > 0 ? { ...detail, loc } : detail)
}
