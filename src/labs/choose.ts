/** Decides whether a user may have a lab, and its size. Pure. */

import type { Group, Identity, LabOptions, Quotas } from '../base/domain.ts'
import type { ErrorDetail } from '../base/errors.ts'
import { ApiError, invalid } from '../base/errors.ts'
import { formatBytes } from '../base/quantity.ts'
import type { Config } from '../config/schema.ts'
import { quotasOf, type Storage, storageOf } from './quota.ts'

/** The user and groups that a lab runs as, its size and its resources. */
export interface LabChoice {
  readonly uid: number
  readonly gid: number
  /** Name of the size. */
  readonly size: string
  readonly quotas: Quotas
  readonly storage: Storage
}

/** A size that the form offers. */
export interface OfferedSize extends Quotas {
  readonly name: string
}

type LabSettings = Pick<Config['lab'], 'sizes' | 'defaultSize' | 'defaultStorage'>
type Size = Config['lab']['sizes'][string]
/** The part of an identity that decides on sizes. */
type SizeAsker = Pick<Identity, 'groups' | 'quota'>

/** The largest number that Kubernetes accepts for a user or group. */
const maxId = 2 ** 31 - 1

/**
 * Decides on ids and size before any other input is read. A size must fit the quota by its limits (SQR-066, "Pod
 * configuration" and "Labs for bot users").
 * @throws {ApiError} 403 without UID or GID, with a quota that forbids labs, or for a size that the user's groups or
 *   quota exclude; 422 for a size that does not exist
 */
export function chooseLab(lab: LabSettings, identity: Identity, options: LabOptions): LabChoice {
  if (identity.quota?.spawn === false) throw forbidden('Your quota does not allow labs')
  const ids = checkIds(identity)
  const size = options.size ?? lab.defaultSize
  const found = sizeOf(lab, size)
  const problem = groupProblem(found, identity) ?? excessProblem(found, identity)
  if (problem) {
    const which = options.size === undefined ? `The default size ${size}` : `The size ${size}`
    throw forbidden(`${which} ${problem}`, 'body', 'options', 'size')
  }
  return { ...ids, size, quotas: quotasOf(found), storage: storageOf(found, lab.defaultStorage) }
}

/** The sizes that this user may have, in the order of the configuration: exactly those that `chooseLab` accepts. */
export function sizesFor(lab: Pick<LabSettings, 'sizes'>, identity: SizeAsker): readonly OfferedSize[] {
  if (identity.quota?.spawn === false) return []
  return Object.entries(lab.sizes)
    .filter(([, size]) => !groupProblem(size, identity) && !excessProblem(size, identity))
    .map(([name, size]) => ({ name, ...quotasOf(size) }))
}

function sizeOf(lab: LabSettings, name: string): Size {
  const found = Object.hasOwn(lab.sizes, name) ? lab.sizes[name] : undefined
  if (found) return found
  throw invalid(`There is no such size, only ${Object.keys(lab.sizes).join(', ')}`, 'body', 'options', 'size')
}

function groupProblem({ groups }: Size, asker: SizeAsker): string | undefined {
  if (!groups || asker.groups.some(({ name }) => groups.includes(name))) return undefined
  return `is for members of ${groups.join(', ')}`
}

function excessProblem({ limits }: Size, { quota }: SizeAsker): string | undefined {
  const excess: string[] = []
  if (quota?.cpu !== undefined && limits.cpu > quota.cpu) excess.push(`${limits.cpu} CPUs of ${quota.cpu}`)
  if (quota?.memoryBytes !== undefined && limits.memory > quota.memoryBytes) {
    excess.push(`${formatBytes(limits.memory)} of memory of ${formatBytes(quota.memoryBytes)}`)
  }
  return excess.length > 0 ? `is more than your quota allows: ${excess.join(', ')}` : undefined
}

function checkIds({ uid, gid, groups }: Identity): { uid: number; gid: number } {
  if (uid === undefined) throw forbidden('You have no UID, without which you cannot have a lab')
  if (gid === undefined) throw forbidden('You have no primary GID, without which you cannot have a lab')
  if (uid === 0) throw forbidden('Your UID is 0, and labs do not run as root')
  for (const [kind, id] of [['UID', uid], ['GID', gid], ...groups.map(gidOf)] as const) {
    if (id !== undefined && !isId(id)) throw forbidden(`Your ${kind} ${id} cannot be used for a lab`)
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
