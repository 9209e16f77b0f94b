/** Asks the API server whether a lab is complete, before its creation is given up. */

import { backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { NeedsSomeone, RetryLater } from '../base/errors.ts'
import { type CallOptions, KubeError } from '../kube/client.ts'
import { isWhole, judgeStart } from '../kube/pods/judge.ts'
import { projectNamespace, projectPod } from '../kube/pods/project.ts'
import type { LabNames } from '../labs/names.ts'
import { type ClusterClient, namespaceRef, podRef } from './cluster.ts'
import type { Trust } from './trust.ts'

export interface WholeQuestion {
  readonly kube: ClusterClient
  readonly clock: Clock
  readonly names: LabNames
  readonly op: number
  readonly trust: Trust
  /**
   * The record may be older than the cluster. Then a restarted container had started before; by a record that is surely
   * the latest, it crashed before it ever started.
   */
  readonly recordMayBeOld: boolean
  /** Its signal ends the question if there is no answer. */
  readonly call: CallOptions & { readonly signal: AbortSignal }
  /** How long refusals are treated as temporary; infinite if an answer is needed. */
  readonly refusalMs: number
  readonly onRefusal: (error: KubeError) => Promise<void>
}

/** The API server refuses to show whether the lab is complete. */
export class Unanswered extends NeedsSomeone {}

const backoff = { baseMs: 500, capMs: 10_000 }

/**
 * A missing answer is never taken for absence.
 * @returns the UIDs of a complete lab of this operation, or null
 * @throws {Unanswered} when the API server refuses for longer than `refusalMs`
 */
export async function findWhole(question: WholeQuestion): Promise<{ namespaceUid: string; podUid: string } | null> {
  const { kube, names, op, trust, call, recordMayBeOld } = question
  const object = await patiently(question, () => kube.get(namespaceRef(names.namespace), call))
  const namespace = object && projectNamespace(object)
  if (!namespace || namespace.op !== op || namespace.terminating) return null
  if (trust.judge(namespace, op) !== 'ours') return null
  const podObject = await patiently(question, () => kube.get(podRef(names.namespace, names.lab), call))
  const pod = podObject && projectPod(podObject)
  if (!pod || pod.deleting || pod.ownerUid !== namespace.uid) return null
  const whole = judgeStart(pod).kind === 'ready' || (recordMayBeOld && isWhole(pod, namespace.uid))
  return whole ? { namespaceUid: namespace.uid, podUid: pod.uid } : null
}

async function patiently<T>(question: WholeQuestion, ask: () => Promise<T>): Promise<T> {
  const { clock, call, refusalMs, onRefusal } = question
  let refusedSinceMs: number | undefined
  for (let failures = 1; ; failures += 1) {
    try {
      return await ask()
    } catch (error) {
      call.signal.throwIfAborted()
      if (!(error instanceof RetryLater || error instanceof KubeError)) throw error
      const now = clock.monotonicMs()
      refusedSinceMs = error instanceof KubeError ? (refusedSinceMs ?? now) : undefined
      if (refusedSinceMs !== undefined && now - refusedSinceMs >= refusalMs) throw new Unanswered(error.message)
      if (error instanceof KubeError) await onRefusal(error)
      const askedMs = error instanceof RetryLater ? error.afterMs : undefined
      await clock.sleep(askedMs ?? backoffMs(failures, backoff), call.signal)
    }
  }
}
