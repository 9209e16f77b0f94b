/**
 * Facts that the rings of a lab imply, so that a replica need not read its record. After `missed` or `compared` all of them
 * are forgotten. A replica reads the records of labs that are not known here. Pure.
 *
 * - While an operation runs it is responsible for the lab's objects, and its end is rung.
 * - An operation that ended without `failed` left its lab running, if it was a creation; else there is no lab, and it is
 *   forgotten.
 * - A creation is accepted only where no lab is, or a failed one. So the next operation after such a creation is its
 *   deletion.
 */
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import { isWhole } from '../../kube/pods/judge.ts'
import type { Ring } from '../../store/rings.ts'

/** The last operation of a lab. */
export interface LastHeard {
  readonly op: number
  readonly state: 'runs' | 'done' | 'failed'
  /** It surely is a deletion. */
  readonly deletes: boolean
}

export class Heard {
  readonly #byUser = new Map<string, LastHeard>()

  /** The number of users whose last operation is known. */
  get size(): number {
    return this.#byUser.size
  }

  /** Undefined if the rings do not show it, or the lab was deleted. */
  of(user: string): LastHeard | undefined {
    return this.#byUser.get(user)
  }

  /**
   * @param isCreation whether the cluster has a namespace of this op: only creations make one
   * @returns true if the ring is the end of a deletion, after which neither lab nor record is left
   */
  hear(ring: Ring, isCreation: (user: string, op: number) => boolean): boolean {
    if (!ring.subject) {
      this.#byUser.clear()
      return false
    }
    const user = ring.subject.name
    const before = this.#byUser.get(user)
    const op = ring.op ?? 0
    if (before && op < before.op) return false
    if (ring.what === 'accepted') {
      const deletes = before?.state === 'done' && isCreation(user, before.op)
      this.#byUser.set(user, { op, state: 'runs', deletes })
    }
    if (ring.what === 'failed') this.#byUser.set(user, { op, state: 'failed', deletes: false })
    if (ring.what !== 'ended' || (before?.op === op && before.state === 'failed')) return false
    // A replica of the release before rings no `failed`, so a creation may follow where a deletion was expected.
    if (isCreation(user, op)) {
      this.#byUser.set(user, { op, state: 'done', deletes: false })
      return false
    }
    // Nothing more is kept for users without a lab, or the entries would add up.
    this.#byUser.delete(user)
    return before?.op === op && before.deletes
  }
}

/** True if the objects that the watches show are what the operation implies, so that none of them can be debris. */
export function isExplained(
  { op, state }: LastHeard,
  namespace: NamespaceFacts,
  [pod, ...others]: readonly PodFacts[],
): boolean {
  if (namespace.op === undefined) return false
  if (state === 'runs') return namespace.op <= op
  if (state === 'failed' || namespace.op !== op || namespace.terminating) return false
  return pod?.op === op && !pod.deleting && isWhole(pod, namespace.uid) && others.length === 0
}
