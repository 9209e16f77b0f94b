/** The pods of an app, and what is wrong with the newest. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { asTimeMs } from '../base/json.ts'
import type { PodFacts } from '../kube/pods/facts.ts'
import { judgeLife, judgeStart } from '../kube/pods/judge.ts'
import { projectPod } from '../kube/pods/project.ts'
import { appWords } from '../kube/pods/words.ts'
import { appObjectName } from './names.ts'

export interface AppPod extends PodFacts {
  /** By the cluster's clock; 0 when unknown. */
  readonly createdMs: number
  /** The name of the ReplicaSet that owns it; people may write it. */
  readonly replicaSet: string | undefined
}

export function projectAppPod(object: KubeObject): AppPod {
  const { creationTimestamp, ownerReferences = [] } = object.metadata
  return {
    ...projectPod(object),
    createdMs: asTimeMs(creationTimestamp),
    replicaSet: ownerReferences.find(({ kind }) => kind === 'ReplicaSet')?.name,
  }
}

/** Whether a pod bears the app's label because the app made it: anybody in the namespace may write labels. */
export const isPodOf = (id: string, { replicaSet }: AppPod): boolean =>
  replicaSet?.startsWith(`${appObjectName(id)}-`) ?? false

/** It holds nothing any more. */
const isOver = ({ phase }: AppPod): boolean => phase === 'Succeeded' || phase === 'Failed'

/** Whether a pod still holds resources, also one that is being deleted. */
export const holdsResources = (pods: readonly AppPod[]): boolean => pods.some(pod => !isOver(pod))

/** From the creation of a pod until a trouble that may pass is reported as an error. */
export const gracesMs = { 'no-room': 60_000, registry: 60_000, unknown: 60_000 } as const

export interface Trouble {
  readonly reason: 'Failed' | 'NoRoom' | 'ImagePull' | 'NotStarted'
  readonly message: string
  /** When it counts, by the clock of `nowMs`; absent: at once. */
  readonly fromMs?: number
}

const reasons = { 'no-room': 'NoRoom', registry: 'ImagePull', unknown: 'NotStarted' } as const

/** The trouble of the newest pod that is not on its way out. */
export function troubleOf(pods: readonly AppPod[]): Trouble | undefined {
  const living = pods.filter(({ deleting }) => !deleting)
  const newest = living.reduce<AppPod | undefined>((best, pod) => (best && isNewer(best, pod) ? best : pod), undefined)
  return newest && troubleOfPod(newest)
}

const isNewer = (one: AppPod, other: AppPod): boolean =>
  one.createdMs === other.createdMs ? one.uid > other.uid : one.createdMs > other.createdMs

function troubleOfPod(pod: AppPod): Trouble | undefined {
  const start = judgeStart(pod, [], appWords)
  switch (start.kind) {
    case 'doomed':
      return { reason: 'Failed', message: start.message }
    case 'troubled': {
      const { cause, message } = start
      return { reason: reasons[cause], message, fromMs: pod.createdMs + gracesMs[cause] }
    }
    case 'ready':
      return troubleOfLife(pod)
    default:
      return undefined
  }
}

function troubleOfLife(pod: AppPod): Trouble | undefined {
  const life = judgeLife(pod, false, appWords)
  if (life.kind === 'crashing' || life.kind === 'failed') return { reason: 'Failed', message: life.message }
  return life.kind === 'unknown' ? { reason: 'NotStarted', message: life.message } : undefined
}
