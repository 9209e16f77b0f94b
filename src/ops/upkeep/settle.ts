/** Decides for one user of a compare, from the record and the user's objects in the cluster. Pure. */
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import { isWhole, judgeLife } from '../../kube/pods/judge.ts'
import type { LabNames } from '../../labs/names.ts'
import { type PodFields, rebuildView } from '../../labs/pod-fields.ts'
import type { Settlement, Standing } from '../../store/compares.ts'
import { type LabRecord, readView } from '../../store/records.ts'

/** The trusted objects of a user in the cluster. */
export interface Found {
  readonly namespace: NamespaceFacts
  readonly pod: PodFacts | undefined
  readonly names: Pick<LabNames, 'lab' | 'namespace'>
  /** True if the namespace has a right MAC. */
  readonly vouched: boolean
  readonly podFields: PodFields
}

export type Decision =
  /** Both agree, or an operation is responsible. */
  | { readonly kind: 'nothing' }
  /** The cluster wins: the record is written anew. */
  | { readonly kind: 'settle'; readonly settlement: Omit<Settlement, 'user' | 'standing' | 'highestOp' | 'timeoutMs'> }
  /** The record says that the lab runs; its pod is to be judged. */
  | { readonly kind: 'judge'; readonly pod: PodFacts }
  /** The record has a pod that the list lacks: the API server is to be asked. */
  | { readonly kind: 'confirm'; readonly podUid: string }
  /** A failed lab that was kept long enough. */
  | { readonly kind: 'expire'; readonly op: number }
  /** A namespace, or a pod in it, that a late write or a failed operation left. */
  | { readonly kind: 'debris'; readonly namespace: string }

const lost: Settlement['lost'] = [
  ['error', 'Redis lost what it knew of this operation; the cluster shows a newer one'],
  ['failed', 'The record of this operation was lost'],
]

/**
 * @param expireBeforeMs labs that failed before this moment by Redis' clock have kept their namespace long enough
 * @param heedsStamp as for `judgeLife`
 */
export function decide(
  user: string,
  standing: Standing,
  found: Found | undefined,
  expireBeforeMs: number,
  heedsStamp = false,
): Decision {
  const { record, tombstone } = standing
  const knownOp = record?.op ?? tombstone
  if (found && (found.namespace.op ?? 0) > knownOp) return overrule(user, found, heedsStamp)
  if (!record) return found ? { kind: 'debris', namespace: found.namespace.name } : { kind: 'nothing' }
  if (record.active) return { kind: 'nothing' }
  if (record.status === 'running') return compareRunning(standing, found)
  if (found && isLeft(found, record)) return { kind: 'debris', namespace: found.namespace.name }
  if (found && record.failedAtMs < expireBeforeMs) return { kind: 'expire', op: record.op }
  // Otherwise clients would be shown a pod that is gone.
  const { podPresent, podUid } = record
  return podPresent && podUid && !found?.pod ? { kind: 'confirm', podUid } : { kind: 'nothing' }
}

/** True for objects that are not the record's, or that its operation could not remove. */
function isLeft({ namespace, pod }: Found, record: LabRecord): boolean {
  return (
    record.remains === true || namespace.uid !== record.namespaceUid || (pod !== undefined && pod.uid !== record.podUid)
  )
}

function compareRunning({ record }: Standing, found: Found | undefined): Decision {
  const { podUid } = record!
  if (found?.pod && found.pod.uid === podUid) return { kind: 'judge', pod: found.pod }
  return podUid ? { kind: 'confirm', podUid } : { kind: 'nothing' }
}

/** The cluster is newer than the record: a complete lab is rebuilt from its namespace, anything else is deleted. */
function overrule(user: string, found: Found, heedsStamp: boolean): Decision {
  const { namespace, pod } = found
  const op = namespace.op!
  const fields = {
    view: rebuildView({ ...found, view: readView(namespace.record, user), username: user }),
    namespaceUid: namespace.uid,
    podUid: pod?.uid ?? '',
    podPresent: pod !== undefined,
  }
  const lives = pod && isWhole(pod, namespace.uid) && !pod.deleting && !namespace.terminating
  const life = lives ? judgeLife(pod, heedsStamp) : undefined
  if (!life || life.kind === 'ended') {
    return { kind: 'settle', settlement: { outcome: 'delete', op, fields, lost, events: [['info', leftBehind]] } }
  }
  if (life.kind === 'failed') {
    const events: Settlement['events'] = [
      ['info', foundAgain],
      ['error', life.message],
      ['failed', `Lab failed for ${user}`],
    ]
    return { kind: 'settle', settlement: { outcome: 'failed', op, fields, lost, events } }
  }
  const events: Settlement['events'] = [
    ['info', foundAgain],
    ['complete', `Operation complete for ${user}`],
  ]
  return { kind: 'settle', settlement: { outcome: 'running', op, fields, lost, events } }
}

const foundAgain = 'The lab was found again in the cluster'
const leftBehind = 'What was left of a lab is removed'
