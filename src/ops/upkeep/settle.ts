/** What a compare decides for one user, from the record and the cluster as both were read. Pure. */
import type { NamespaceFacts, PodFacts } from '../../kube/pods/facts.ts'
import { isWhole, judgeLife } from '../../kube/pods/judge.ts'
import type { LabNames } from '../../labs/names.ts'
import { type PodFields, rebuildView } from '../../labs/pod-fields.ts'
import type { Settlement, Standing } from '../../store/compares.ts'
import { type LabRecord, readView } from '../../store/records.ts'

/** What the cluster has of a user; nothing foreign. */
export interface Found {
  readonly namespace: NamespaceFacts
  readonly pod: PodFacts | undefined
  readonly names: Pick<LabNames, 'lab' | 'namespace'>
  /** Whether the namespace bears a right MAC. */
  readonly vouched: boolean
  readonly podFields: PodFields
}

export type Decision =
  /** Both agree, or it is an operation's business. */
  | { readonly kind: 'nothing' }
  /** The cluster wins: the record is written anew. */
  | { readonly kind: 'settle'; readonly settlement: Omit<Settlement, 'user' | 'standing' | 'highestOp' | 'timeoutMs'> }
  /** A lab that runs, by its record; its pod is as this shows. */
  | { readonly kind: 'judge'; readonly pod: PodFacts }
  /** A lab whose pod stands, by its record, and whose pod the list lacks: to be asked for. */
  | { readonly kind: 'confirm'; readonly podUid: string }
  /** A failed lab whose time is over. */
  | { readonly kind: 'expire'; readonly op: number }
  /** A namespace, or a pod in it, that a late write or a failed operation left. */
  | { readonly kind: 'debris'; readonly namespace: string }

const lost: Settlement['lost'] = [
  ['error', 'Redis lost what it knew of this operation; the cluster shows a newer one'],
  ['failed', 'The record of this operation was lost'],
]

/** `expireBeforeMs`: labs that failed before this moment by Redis' clock have kept their namespace long enough. */
export function decide(user: string, standing: Standing, found: Found | undefined, expireBeforeMs: number): Decision {
  const { record, tombstone } = standing
  const knownOp = record?.op ?? tombstone
  if (found && (found.namespace.op ?? 0) > knownOp) return overrule(user, found)
  if (!record) return found ? { kind: 'debris', namespace: found.namespace.name } : { kind: 'nothing' }
  if (record.active) return { kind: 'nothing' }
  if (record.status === 'running') return compareRunning(standing, found)
  if (found && isLeft(found, record)) return { kind: 'debris', namespace: found.namespace.name }
  if (found && record.failedAtMs < expireBeforeMs) return { kind: 'expire', op: record.op }
  // A client may be told of a pod that is gone.
  const { podPresent, podUid } = record
  return podPresent && podUid && !found?.pod ? { kind: 'confirm', podUid } : { kind: 'nothing' }
}

/** Not what the record stands for, or what its operation could not remove. */
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

/** The cluster has what the records lack: a lab is rebuilt from its namespace, anything less is an ordinary deletion. */
function overrule(user: string, found: Found): Decision {
  const { namespace, pod } = found
  const op = namespace.op!
  const fields = {
    view: rebuildView({ ...found, view: readView(namespace.record, user), username: user }),
    namespaceUid: namespace.uid,
    podUid: pod?.uid ?? '',
    podPresent: pod !== undefined,
  }
  const lives = pod && isWhole(pod, namespace.uid) && !pod.deleting && !namespace.terminating
  const life = lives ? judgeLife(pod) : undefined
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
