/** Late writes of older operations, and the fate of each by the audit log and the final state. */
import { expect } from 'vitest'
import { labels } from '../../../src/kube/labels.ts'
import type { Trial } from '../../kit/attack/attack.ts'
import { eventually } from '../../kit/cluster/world.ts'
import { type AuditedRequest, isPolicyRefusal } from '../../kit/evidence/audit.ts'
import type { Client } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'
import { collector, removalOf } from './stale.ts'

/** A write of one object, sent by the owner of an operation that is over. */
export interface StaleWrite {
  readonly user: Client
  readonly op: number
  readonly resource: string
  readonly name: string
  /** End of the write's target: only later answers count. */
  readonly sinceMs: number
}

/**
 * - `policy`: the policy refused it; `taken`: an object of the newer operation had its name; `gone`: the namespace did
 *   not exist or was being deleted; `cut`: its sender gave up before it was stored;
 * - `debris`, `collected`: it was stored, and then removed by a replica or by the garbage collector;
 * - `slipped`: it was stored, and never removed.
 */
export type Fate = 'policy' | 'taken' | 'gone' | 'cut' | 'debris' | 'collected' | 'slipped'

/** No write outlives its operation by more than the longest request. */
const promisedMs = 60_000

/** The late attempt to create the object, once answered. */
function attemptOf(all: readonly AuditedRequest[], { user, ...write }: StaleWrite, fleet: Fleet) {
  const namespace = fleet.namespace(user.username)
  return all.findLast(
    request =>
      request.verb === 'create' &&
      request.namespace === namespace &&
      request.resource === write.resource &&
      request.name === write.name &&
      request.op === write.op &&
      request.completedAtMs >= write.sinceMs,
  )
}

/** Waits until each write was attempted late and answered. Returns those for which this happened in time. */
export async function awaitTried<T extends StaleWrite>(fleet: Fleet, writes: readonly T[]): Promise<T[]> {
  let tried: T[] = []
  const all = async () => {
    const requests = await fleet.audit.all()
    tried = writes.filter(write => attemptOf(requests, write, fleet))
    return tried.length === writes.length
  }
  // A missing attempt counts as missed.
  await eventually('answers to the stale writes', all, 20_000).catch(() => {})
  return tried
}

/** The fate of each write, at rest. */
export async function fatesOf(fleet: Fleet, writes: readonly StaleWrite[]): Promise<Fate[]> {
  const all = await fleet.audit.all()
  return writes.map(write => {
    const attempt = attemptOf(all, write, fleet)!
    if (isPolicyRefusal(attempt)) return 'policy'
    if (attempt.code === 409) return 'taken'
    if (attempt.code === 504) return 'cut'
    if (attempt.code >= 300) return 'gone'
    const removal = removalOf(attempt, all)
    if (!removal) return 'slipped'
    return removal.sender === collector ? 'collected' : 'debris'
  })
}

/** A user's namespace holds only objects of the newer operation; without a lab there is nothing. */
export async function expectNothingStale(fleet: Fleet, user: Client, op: number | null): Promise<void> {
  const stale = async () => {
    const namespace = await fleet.world.namespaceOf(user.username)
    if (namespace && namespace.metadata.labels?.[labels.op] !== String(op)) return [{ ...namespace, kind: 'Namespace' }]
    const objects = await fleet.world.objectsOf(user.username)
    const { uid } = namespace?.metadata ?? {}
    return objects.filter(
      ({ metadata }) => metadata.labels?.[labels.op] !== String(op) || metadata.ownerReferences?.[0]?.uid !== uid,
    )
  }
  const words = `nothing stale of ${user.username}`
  await eventually(words, async () => (await stale()).length === 0, promisedMs).catch(() => {})
  expect((await stale()).map(({ kind, metadata }) => [kind, metadata.labels?.[labels.op]])).toEqual([])
}

/**
 * The pod came after the removal of the late object: that object had a name that the newer operation needs for its own,
 * and the pod comes last.
 */
export async function expectUnseen(fleet: Fleet, write: StaleWrite, newerOp: number): Promise<void> {
  const own = (await fleet.audit.writesOf(fleet.namespace(write.user.username))).filter(
    ({ verb, code, op }) => verb === 'create' && code < 300 && op === newerOp,
  )
  const made = own.find(({ resource, name }) => resource === write.resource && name === write.name)
  const pod = own.find(({ resource }) => resource === 'pods')
  expect([write.resource, made !== undefined, pod !== undefined]).toEqual([write.resource, true, true])
  expect(made!.completedAtMs, write.resource).toBeLessThanOrEqual(pod!.completedAtMs)
}

/** Counts the policy's refusals in this fleet's namespaces: of stale, of honest and of other clients' writes. */
export async function reportRefusals(trial: Trial, fleet: Fleet, stale: readonly StaleWrite[]): Promise<void> {
  const isStale = ({ op }: AuditedRequest) => stale.some(write => write.op === op)
  const ours = (await fleet.audit.all()).filter(({ namespace }) => namespace.startsWith(`${fleet.namespacePrefix}-`))
  const refused = ours.filter(isPolicyRefusal)
  const honest = refused.filter(request => request.op !== undefined && !isStale(request))
  const others = refused.filter(({ op }) => op === undefined)
  trial.figure('refused', { stale: refused.filter(isStale).length, honest: honest.length, others: others.length })
  if (others.length > 0) trial.violation(`P2 the policy refused writes of ${others.map(({ sender }) => sender)}`)
}

/** Counts fates. A write that slipped breaks a promise. */
export function reportFates(trial: Trial, fates: readonly Fate[]): void {
  const counts: Record<Fate, number> = { policy: 0, taken: 0, gone: 0, cut: 0, debris: 0, collected: 0, slipped: 0 }
  for (const fate of fates) counts[fate] += 1
  trial.figure('stale', { tried: fates.length, ...counts })
  if (counts.slipped > 0) trial.violation(`P2 ${counts.slipped} stale writes were never removed`)
}
