/** The status of a PhApplication: its phase, and conditions with reasons in words. Pure. */

import type { Addresses } from '../base/app-address.ts'
import { asObject, asObjects, type JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { Fact, Result, StatusPatch } from '../reconcile/types.ts'
import { appObjectName } from './names.ts'
import { type DeploymentView, isOverQuota, type PhaseVerdict } from './phase.ts'
import { appUrl } from './route.ts'
import { type CheckedApp, generationOf, isStopped } from './spec.ts'

export const appConditionTypes = [
  'Reconciled',
  'Available',
  'Pruned',
  'Conflict',
  'QuotaExceeded',
  'RoutesPending',
] as const
export type AppConditionType = (typeof appConditionTypes)[number]

interface State {
  readonly is: boolean
  readonly reason: string
  readonly message: string
}

const state = (is: boolean, reason: string, message = ''): State => ({ is, reason, message: message.slice(0, 1_000) })

export interface StatusFacts {
  readonly app: Fact
  readonly checked: CheckedApp
  readonly pruned: readonly string[]
  readonly deployment: DeploymentView | undefined
  readonly verdict: PhaseVerdict
  readonly result: Result
  readonly addresses: Addresses
}

export function appStatus(facts: StatusFacts, nowMs: number): StatusPatch {
  const { app, checked, verdict, addresses } = facts
  const url = checked.spec?.http ? appUrl(app.ref.name, addresses) : undefined
  const states: Readonly<Record<AppConditionType, State>> = {
    Reconciled: reconciledState(facts),
    Available: availableState(facts),
    Pruned: prunedState(facts.pruned),
    Conflict: conflictState(facts),
    QuotaExceeded: quotaState(facts),
    RoutesPending: routesState(facts.result),
  }
  return {
    of: app,
    status: {
      observedGeneration: generationOf(app),
      ...{ phase: verdict.phase, message: verdict.message },
      ...{ serviceName: appObjectName(app.ref.name), url: url ?? null },
      conditions: conditionsOf(app, states, nowMs),
    },
  }
}

/** A stranger's object that has a name of ours, in words. */
export function conflictWords({ conflicts }: Pick<Result, 'conflicts'>): string | undefined {
  const [first] = conflicts
  if (!first) return undefined
  const { kind, namespace, name } = first.ref
  return `the ${kind} ${keyOf(namespace, name)} exists, and is not that of this app`
}

function reconciledState({ checked: { refusal }, result }: StatusFacts): State {
  if (refusal) return state(false, refusal.reason, refusal.message)
  const conflict = conflictWords(result)
  if (conflict !== undefined) return state(false, 'Conflict', conflict)
  if (result.contended) return state(false, 'Contended', 'another writer changes the objects again and again')
  if (result.failure !== undefined) return state(false, 'Refused', result.failure)
  if (result.onlyRevocations !== undefined) return state(false, 'PolicyMissing', result.onlyRevocations)
  return result.settled ? state(true, 'Reconciled') : state(false, 'Waiting', 'not all objects are as declared yet')
}

function availableState({ app, deployment, verdict: { phase, message } }: StatusFacts): State {
  if ((deployment?.ready ?? 0) > 0 && !isStopped(app)) return state(true, 'Available')
  return state(false, phase, message)
}

function prunedState(pruned: readonly string[]): State {
  if (pruned.length === 0) return state(false, 'Nothing')
  return state(true, 'NotAllowed', `left out: ${pruned.join(', ')}`)
}

function conflictState({ checked: { refusal }, result }: StatusFacts): State {
  const words = refusal?.reason === 'Conflict' ? refusal.message : conflictWords(result)
  return words === undefined ? state(false, 'Nothing') : state(true, 'Conflict', words)
}

/** The Deployment's failure shows a full ResourceQuota, and the turn's failure a full share in a namespace. */
function quotaState({ deployment, result: { failure } }: StatusFacts): State {
  const words = [failure, deployment?.failure?.message].find(isOverQuota)
  return words === undefined ? state(false, 'Nothing') : state(true, 'ExceededQuota', words)
}

function routesState({ due }: Result): State {
  return due.length === 0 ? state(false, 'Nothing') : state(true, 'RedisSilent', `waits for Redis: ${due.join(', ')}`)
}

function conditionsOf(
  app: Fact,
  states: Readonly<Record<AppConditionType, State>>,
  nowMs: number,
): readonly JsonObject[] {
  const before = new Map(asObjects(asObject(app.owned.status).conditions).map(condition => [condition.type, condition]))
  const now = `${new Date(nowMs).toISOString().slice(0, 19)}Z`
  return appConditionTypes.map(type => {
    const { is, reason, message } = states[type]
    const status = is ? 'True' : 'False'
    const former = before.get(type)
    const lastTransitionTime = former?.status === status ? (former.lastTransitionTime ?? now) : now
    return { type, status, reason, message, observedGeneration: generationOf(app), lastTransitionTime }
  })
}
