/** The state of an app: its checked spec, its own objects, its phase and its route. Pure. */
import type { AppRoute } from '../base/app-route.ts'
import { asObject, asObjects, asText } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import { isParent } from '../reconcile/facts.ts'
import type { Fact, Result } from '../reconcile/types.ts'
import { appObjectName, groupPolicyName, proxyPolicyName } from './names.ts'
import { appPhase, type DeploymentView, deploymentView, type PhaseFacts, type PhaseVerdict } from './phase.ts'
import { appRoute } from './route.ts'
import { type CheckedApp, generationOf, isStopped } from './spec.ts'
import { conflictWords } from './status.ts'
import type { AppWatch, ShownFact } from './watches.ts'
import { appParent } from './words.ts'
import { type AppWorld, checkedApp } from './world.ts'

export interface AppState {
  readonly checked: CheckedApp
  readonly deployment: DeploymentView | undefined
  readonly verdict: PhaseVerdict
}

/** The findings of a turn; without it, those of the last one, by the status. */
export type Found = Pick<Result, 'settled' | 'failure' | 'conflicts'>

/** @param nowMs since the epoch */
export function appState(app: Fact, world: AppWorld, nowMs: number, found = told(app, world)): AppState {
  const checked = checkedApp(app, world)
  const shown = (ownObject(app, world, 'deployments') as ShownFact | undefined)?.shown
  const deployment = shown && deploymentView(shown)
  const facts: PhaseFacts = {
    ...{ stop: isStopped(app), refusal: checked.refusal, deployment, pods: world.podsOf(app) },
    ...{ settled: found.settled, conflict: conflictWords(found), failure: found.failure },
  }
  return { checked, deployment, verdict: appPhase(facts, nowMs) }
}

/** Whether an app shall have a route is not decided here: one that never had a spec may have none (`RouteWriter.withdraw`). */
export const routeOf = (app: Fact, { checked, verdict }: AppState, world: AppWorld): AppRoute | undefined =>
  appRoute({ app, checked, service: ownObject(app, world, 'services'), ...verdict })

/** Its own objects, and whatever else has one of the names. */
export function standingOf({ ref: { name, namespace } }: Fact, { sights }: AppWorld): readonly Fact[] {
  const at = (watch: AppWatch, own: string) => sights[watch].get(keyOf(namespace, own)) ?? []
  return [
    at('networkPolicies', groupPolicyName(name)),
    at('networkPolicies', proxyPolicyName(name)),
    at('services', appObjectName(name)),
    at('deployments', appObjectName(name)),
  ].flat()
}

/** Its Deployment or Service; not a stranger's of its name, and not that of a former app. */
export function ownObject(app: Fact, { sights }: AppWorld, watch: 'deployments' | 'services'): Fact | undefined {
  const fact = sights[watch].get(keyOf(app.ref.namespace, appObjectName(app.ref.name)))
  return fact && isOwnedBy(fact, app) ? fact : undefined
}

const isOwnedBy = ({ owners }: Fact, app: Fact): boolean => owners.some(({ uid }) => uid === app.uid)

/** By name, as the engine takes it: what a former app of the name has left is no stranger's. */
const belongsTo = ({ owners }: Fact, { ref }: Fact): boolean =>
  owners.some(owner => isParent(owner, appParent) && owner.name === ref.name)

/** A refused write is known by the status alone: the replica that was refused has written it there. */
function told(app: Fact, world: AppWorld): Found {
  const conflicts = standingOf(app, world).filter(fact => !belongsTo(fact, app))
  const reconciled = asObjects(asObject(app.owned.status).conditions).find(({ type }) => type === 'Reconciled')
  const isRefused = reconciled?.reason === 'Refused' && reconciled.observedGeneration === generationOf(app)
  return { settled: true, conflicts, failure: isRefused ? asText(reconciled.message) : undefined }
}

/** Whether its dependents are to stay when it is gone. */
export function isOrphaning({ deleting, owned }: Fact): boolean {
  const { finalizers } = asObject(owned.metadata)
  return deleting && Array.isArray(finalizers) && finalizers.includes('orphan')
}
