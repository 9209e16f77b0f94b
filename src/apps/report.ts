/** The status of an app after a turn. Pure. */
import { asObject, asObjects } from '../base/json.ts'
import type { Fact, Result, StatusPatch } from '../reconcile/types.ts'
import { renderApp } from './render.ts'
import { createdMsOf, type Refusal } from './spec.ts'
import { appState, standingOf } from './state.ts'
import { appStatus } from './status.ts'
import { type AppWorld, groupsAround } from './world.ts'

/** `report` of the kind *app*. It is silent while it is not known whether the policy is missing, or only for a moment. */
export function reportApp(key: string, world: AppWorld, turn: Result, nowMs: number): StatusPatch | undefined {
  const app = world.sights.applications.get(key)
  if (!app || app.deleting) return undefined
  const unguarded = world.unguarded()
  if (unguarded !== undefined && world.longUnguarded() === undefined) return undefined
  if (isElsewhere(app, world, nowMs)) return undefined
  const result = unguarded === undefined ? turn : { ...turn, settled: false, onlyRevocations: unguarded }
  const failure = result.failure ?? unguarded
  const { checked, deployment, verdict } = appState(app, world, nowMs, { ...result, failure })
  const hasPods = standingOf(app, world).some(({ ref }) => ref.kind === 'Deployment')
  const pruned = checked.spec ? renderApp(app, checked.spec, world.settings, hasPods).pruned : []
  const addresses = world.settings.apps
  return appStatus({ app, checked, pruned, deployment, verdict, result, addresses }, nowMs)
}

const wrongGroup: Refusal['reason'] = 'WrongGroup'

/** Another installation tells about an app of its own in less. */
const othersTellMs = 5_000

/** When it is known that no other installation serves an app of no group, by the clock of the cluster. */
export const nobodysFromMs = (app: Fact): number => createdMsOf(app) + othersTellMs

/**
 * Whether others tell about an app: its namespace serves no group here, and its status is not ours. Another installation on the
 * cluster serves it, or did; two would replace each other's status for ever.
 */
function isElsewhere(app: Fact, world: AppWorld, nowMs: number): boolean {
  if (groupsAround(app, world).length > 0) return false
  if (nowMs < nobodysFromMs(app)) return true
  const reconciled = asObjects(asObject(app.owned.status).conditions).find(({ type }) => type === 'Reconciled')
  return reconciled !== undefined && reconciled.reason !== wrongGroup
}
