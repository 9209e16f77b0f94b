/** Accounts for every write of owners after their time, by the audit log and by their own logs. */
import { type AuditedRequest, isPolicyRefusal } from '../../kit/evidence/audit.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { logged } from './wave.ts'

/** Counts; `slipped` lists objects that exist although they must not. */
export interface Account {
  /** Operations whose owner stopped by itself: by its clock, or by a message. */
  readonly selfStops: number
  /** Operations whose owner sent a script that Redis refused. */
  readonly refusedByRedis: number
  /** Writes sent to the cluster. */
  readonly tried: number
  readonly refusedByPolicy: number
  /** The name was taken or gone, or its object had another UID. */
  readonly refusedByName: number
  /** An object in its place uses all of the namespace's quota. */
  readonly refusedByQuota: number
  /** The sender gave up before the API server answered, and nothing was stored. */
  readonly cut: number
  readonly removedAsDebris: number
  readonly garbageCollected: number
  /** Repeated deletions of an object that is already being deleted. */
  readonly repeated: number
  readonly slipped: readonly string[]
}

/** The garbage collector: it removes objects whose owner does not exist. */
export const collector = 'system:serviceaccount:kube-system:generic-garbage-collector'

/** Operations that one replica has given up or ended since a moment, with its reason. */
export async function verdicts(fleet: Fleet, index: number, sinceMs: number): Promise<ReadonlyMap<number, string>> {
  const gaveUp = await logged(fleet, index, 'operation is no longer ours')
  const ended = await logged(fleet, index, 'operation ended')
  const lines = [...ended, ...gaveUp].filter(({ atMs }) => atMs >= sinceMs)
  return new Map(lines.map(({ line }) => [line.op!, line.reason ?? 'ended']))
}

/** Operations of a replica that find a newer object in their place at each look, and wait for its end. */
export async function turnedAway(fleet: Fleet, index: number, sinceMs: number): Promise<ReadonlySet<number>> {
  const reads = (await fleet.audit.requestsOf(fleet.namespacePrefix)).filter(
    ({ verb, replica, receivedAtMs }) =>
      verb === 'get' && replica === `replica-${index + 1}` && receivedAtMs >= sinceMs,
  )
  const byOp = Map.groupBy(reads, ({ op }) => op ?? 0)
  return new Set([...byOp].filter(([, group]) => group.length > 1).map(([op]) => op))
}

/** Accounts for these operations, as far as one replica continued them after a moment. */
export async function accountOf(
  fleet: Fleet,
  index: number,
  sinceMs: number,
  ops: ReadonlySet<number>,
): Promise<Account> {
  const reasons = [...(await verdicts(fleet, index, sinceMs))].filter(([op]) => ops.has(op)).map(([, reason]) => reason)
  const all = (await fleet.audit.all()).filter(({ namespace }) => namespace.startsWith(`${fleet.namespacePrefix}-`))
  const tried = (await fleet.audit.writesOf(fleet.namespacePrefix)).filter(
    ({ receivedAtMs, replica, op }) =>
      receivedAtMs >= sinceMs && replica === `replica-${index + 1}` && op !== undefined && ops.has(op),
  )
  const fates = tried.map(write => fateOf(write, all))
  const count = (fate: string) => fates.filter(each => each === fate).length
  return {
    selfStops: reasons.filter(reason => /lease is lost|superseded/.test(reason)).length,
    refusedByRedis: reasons.filter(reason => reason.includes('moved on')).length,
    tried: tried.length,
    refusedByPolicy: count('policy'),
    refusedByName: count('name'),
    refusedByQuota: count('quota'),
    cut: count('cut'),
    removedAsDebris: count('debris'),
    garbageCollected: count('collector'),
    repeated: count('repeated'),
    slipped: tried.filter((_, i) => fates[i] === 'slipped').map(describe),
  }
}

const describe = ({ verb, resource, namespace, name, code, message, op }: AuditedRequest) =>
  [verb, `${resource}/${name}`, 'in', namespace, 'by', op, code, message].join(' ')

function fateOf(write: AuditedRequest, all: readonly AuditedRequest[]): string {
  const { verb, code } = write
  if (isPolicyRefusal(write)) return 'policy'
  if (code === 404 || code === 409) return 'name'
  if (code === 504) return 'cut'
  // Kubernetes checks the quota before the name.
  if (code === 403 && / is forbidden: exceeded quota: /.test(write.message)) return 'quota'
  if (code >= 300) return 'slipped'
  if (verb === 'delete') return 'repeated'
  const removal = removalOf(write, all)
  if (!removal) return 'slipped'
  return removal.sender === collector ? 'collector' : 'debris'
}

/** The first deletion of the written object, among requests in the order of their arrival. */
export const removalOf = (write: AuditedRequest, all: readonly AuditedRequest[]): AuditedRequest | undefined =>
  all.find(later => removes(later, write))

/** Whether this deletion removed the written object, by itself or with its namespace. */
function removes(later: AuditedRequest, { resource, name, namespace, completedAtMs }: AuditedRequest): boolean {
  if (later.verb !== 'delete' || later.code >= 300 || later.namespace !== namespace) return false
  if (later.receivedAtMs < completedAtMs) return false
  return later.resource === 'namespaces' || (later.resource === resource && later.name === name)
}
