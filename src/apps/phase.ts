/**
 * The phase of an app (seed 001, "status.Phase"). Pure and total: it depends on the present alone, so what was wrong is
 * forgotten as soon as it has passed.
 */
import type { AppPhase } from '../base/app-route.ts'
import { asNumber, asObjects, asText, type JsonObject } from '../base/json.ts'
import { cleanWords } from '../base/text.ts'
import { type AppPod, holdsResources, troubleOf } from './pods.ts'
import type { Refusal } from './spec.ts'

/** What a Deployment says of its pods. */
export interface DeploymentView {
  /** The counts are of what the Deployment wants now. */
  readonly isCurrent: boolean
  readonly replicas: number
  readonly ready: number
  readonly updated: number
  /** Why a pod could not be made, such as for a quota; in the cluster's words. */
  readonly failure: { readonly reason: string; readonly message: string } | undefined
}

/** @param shown the status of a Deployment, and its `metadata.generation` */
export function deploymentView(shown: JsonObject): DeploymentView {
  const { generation, observedGeneration, replicas, readyReplicas, updatedReplicas, conditions } = shown
  const failed = asObjects(conditions).find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
  return {
    isCurrent: asNumber(generation) > 0 && asNumber(observedGeneration) === asNumber(generation),
    ...{ replicas: asNumber(replicas), ready: asNumber(readyReplicas), updated: asNumber(updatedReplicas) },
    failure: failed && { reason: asText(failed.reason) || 'FailedCreate', message: cleanWords(asText(failed.message)) },
  }
}

export interface PhaseFacts {
  readonly stop: boolean
  readonly refusal: Refusal | undefined
  /** The app's own; not a stranger's of its name. */
  readonly deployment: DeploymentView | undefined
  readonly pods: readonly AppPod[]
  /** Every object is as wanted. */
  readonly settled: boolean
  /** A stranger's object that has the name of one of ours, in words. */
  readonly conflict: string | undefined
  /** Why a write is refused. */
  readonly failure: string | undefined
}

export interface PhaseVerdict {
  readonly phase: AppPhase
  /** `reason: words`, or empty. */
  readonly message: string
  /** When to look again although nothing changes, by the clock of `nowMs`. */
  readonly dueMs?: number
}

interface Wrong {
  readonly message: string
  readonly fromMs?: number | undefined
}

/** @param nowMs since the epoch */
export function appPhase(facts: PhaseFacts, nowMs: number): PhaseVerdict {
  const { stop, refusal, deployment, pods } = facts
  const wrong = wrongOf(facts)
  const isTold = wrong !== undefined && (wrong.fromMs === undefined || wrong.fromMs <= nowMs)
  const message = isTold ? wrong.message.slice(0, 1_000) : ''
  const due = wrong?.fromMs !== undefined && !isTold ? { dueMs: wrong.fromMs } : {}
  if (stop) return { phase: isHolding(deployment, pods) ? 'Stopping' : 'Stopped', message: standingWords(facts) }
  if (refusal && refusal.reason !== 'InstanceType') return { phase: 'Error', message }
  if ((deployment?.ready ?? 0) > 0) return { phase: runningPhase(facts), message, ...due }
  return isTold ? { phase: 'Error', message } : { phase: 'Starting', message: '', ...due }
}

function isHolding(deployment: DeploymentView | undefined, pods: readonly AppPod[]): boolean {
  if (holdsResources(pods)) return true
  return deployment !== undefined && (!deployment.isCurrent || deployment.replicas > 0)
}

function runningPhase({ deployment, settled, refusal, conflict, failure }: PhaseFacts): AppPhase {
  const { isCurrent, ready, replicas, updated } = deployment!
  const isPending = !settled && !refusal && conflict === undefined && failure === undefined
  return !isPending && isCurrent && ready === 1 && replicas === 1 && updated === 1 ? 'Ready' : 'Updating'
}

/** What is wrong with the wish, or with the objects; not with pods. */
function wishTrouble({ refusal, conflict, failure }: PhaseFacts): string | undefined {
  if (refusal) return `${refusal.reason}: ${refusal.message}`
  if (conflict !== undefined) return `Conflict: ${conflict}`
  return failure === undefined ? undefined : `Refused: ${failure}`
}

const standingWords = (facts: PhaseFacts): string => (wishTrouble(facts) ?? '').slice(0, 1_000)

function wrongOf(facts: PhaseFacts): Wrong | undefined {
  const { deployment, pods } = facts
  const wish = wishTrouble(facts)
  if (wish !== undefined) return { message: wish }
  if (deployment?.failure) return { message: `${deployment.failure.reason}: ${deployment.failure.message}` }
  const trouble = troubleOf(pods)
  return trouble && { message: `${trouble.reason}: ${trouble.message}`, fromMs: trouble.fromMs }
}

/** Whether these words say that a quota refuses the app. */
export const isOverQuota = (words: string | undefined): boolean => /exceeded quota/i.test(words ?? '')
