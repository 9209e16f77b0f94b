/** The kind *app*: a PhApplication, with its Deployment, Service and NetworkPolicies, and its route. Pure. */

import { isDeepStrictEqual } from 'node:util'
import type { AppRoute } from '../base/app-route.ts'
import type { KubeObject } from '../base/domain.ts'
import { asObject } from '../base/json.ts'
import { keyOf, placeOf } from '../kube/cache.ts'
import type { Change } from '../kube/picture.ts'
import { isAnothers, isParent } from '../reconcile/facts.ts'
import type { Effect, Fact, Hold, Kind, Lock, Poke, Source, Verdict } from '../reconcile/types.ts'
import { groupLabel } from './names.ts'
import { type AppPlan, planOf, withoutPods } from './plan.ts'
import { holdsResources } from './pods.ts'
import { nobodysFromMs, reportApp } from './report.ts'
import { excessOf, isCovered } from './shares.ts'
import { type AppSpec, annotationsOf, generationOf, isStopped } from './spec.ts'
import { appState, isOrphaning, ownObject, routeOf, standingOf } from './state.ts'
import { type AppWatch, appOfPod, appWatches, type PodFact, type ShownFact } from './watches.ts'
import { appAnnotations, appLabels, appParent } from './words.ts'
import { type AppWorld, groupsAround } from './world.ts'

/** Writes routes. Any replica may do so at any time: the store refuses what is older. */
export interface RouteWriter {
  /**
   * @throws {RetryLater} when Redis does not answer, or another app's route is in the way
   * @throws {Fenced} when a route of a later generation is written
   */
  put(route: AppRoute): Promise<void>
  /** Writes a route without an address, where this app has one already: an app that gets nothing takes no id. Throws as `put`. */
  withdraw(route: AppRoute): Promise<void>
  /** An app is gone: removes its route, if no other has it. */
  gone(namespace: string, id: string, signal: AbortSignal): Promise<void>
}

export function appKind(world: AppWorld, routes: RouteWriter): Kind<AppWorld> {
  return {
    name: 'app',
    parent: appParent,
    sources: sourcesOf(world),
    world: () => world,
    desired: (key, world, nowMs) => desiredApp(key, world, nowMs, routes),
    report: reportApp,
    onGone: (key, signal) => {
      const { namespace, name } = placeOf(key)
      return routes.gone(namespace, name, signal)
    },
  }
}

function desiredApp(key: string, world: AppWorld, nowMs: number, routes: RouteWriter): Verdict {
  const app = world.sights.applications.get(key)
  if (!app) return { do: 'leave' }
  const state = appState(app, world, nowMs)
  const { checked, verdict } = state
  const route = routeOf(app, state, world)
  const isServed = checked.spec !== undefined && !app.deleting
  const effects = route ? [isServed ? writing(route, routes) : withdrawing(route, routes)] : []
  const { dueMs } = verdict
  const base = { do: 'hold', parent: app, effects, ...(dueMs !== undefined && { dueMs }) } as const
  const nothing: Hold = { ...base, objects: [], standing: [] }
  // Its namespace serves no group here: the objects there may be another installation's.
  if (groupsAround(app, world).length === 0) return { ...nothing, dueMs: nobodysFromMs(app) }
  const stopped = (): Hold => ({ ...base, ...withoutPods(app, ownObject(app, world, 'deployments')) })
  // A deletion may ask that all stays. Otherwise nothing runs while a finalizer holds it up.
  if (app.deleting) return isOrphaning(app) ? nothing : stopped()
  // A mistake in the configuration ends no app that runs. An app that should stop ends nevertheless.
  if (!checked.spec) return isStopped(app) ? stopped() : nothing
  // Without the policy nothing is made. A stop makes nothing.
  if (world.unguarded() !== undefined && !checked.spec.stop) return nothing
  const { spec } = checked
  const plan = planOf(app, { ...checked, spec }, world.settings, standingOf(app, world))
  const lock = lockOf(app, spec, plan, world)
  return { ...base, ...plan, ...(lock && { lock }) }
}

/** Where groups share a namespace, one app at a time takes of what its group has. */
function lockOf(
  app: Fact,
  { group, namespace }: AppSpec,
  { objects, standing }: AppPlan,
  world: AppWorld,
): Lock | undefined {
  const wanted = objects.find(({ object }) => object.kind === 'Deployment')?.object as KubeObject | undefined
  if (group.isAlone || Object.keys(group.quota).length === 0 || !wanted || isStopped(app)) return undefined
  const own = standing.find(({ ref }) => ref.kind === 'Deployment')
  // What stands counts for the group whose label it has. Each update leaves a pod that may take an hour to end.
  const isOurs = asObject(asObject(own?.owned.metadata).labels)[appLabels.group] === groupLabel(group.name)
  const hasEnding = holdsResources(world.podsOf(app).filter(({ deleting }) => deleting))
  if (own && isOurs && !hasEnding && isCovered(group.quota, own.owned, wanted)) return undefined
  return {
    name: `group:${group.name}`,
    check: async signal =>
      excessOf(group.name, group.quota, await world.usersOf(namespace, group.name, signal), wanted),
  }
}

const writing = (route: AppRoute, routes: RouteWriter): Effect => ({
  name: 'route',
  mark: `${route.uid} ${JSON.stringify(route)}`,
  apply: () => routes.put(route),
})

function withdrawing({ address: _, ...route }: AppRoute, routes: RouteWriter): Effect {
  return {
    name: 'route',
    mark: `${route.uid} withdrawn ${JSON.stringify(route)}`,
    apply: () => routes.withdraw(route),
  }
}

function sourcesOf(world: AppWorld): readonly Source[] {
  const { sights } = world
  const source = (watch: AppWatch, keysOf: Source['keysOf']): Source => ({
    ...appWatches[watch],
    ...{ watch: sights[watch], keysOf },
  })
  const ofChild = (change: Change<Fact>) => ofObject(change, world)
  return [
    source('applications', change => ofApplication(change, world)),
    source('deployments', ofChild),
    source('services', ofChild),
    source('networkPolicies', ofChild),
    source('pods', ofPod),
  ]
}

/** An edit passes new apps, and so does an end. A status, ours too, does not. */
function* ofApplication(change: Change<Fact>, world: AppWorld): Generator<Poke> {
  const { namespace, name, type, value } = change
  const previous = type === 'put' ? change.previous : undefined
  const isEdit = previous !== undefined && !isDeepStrictEqual(editedOf(previous), editedOf(value))
  yield { key: keyOf(namespace, name), urgent: type === 'gone' || isEdit }
  // The end of one gives its id to another, and an older one takes it.
  if (previous !== undefined && !isEdit) return
  for (const { ref } of world.named(name)) {
    if (ref.namespace !== namespace) yield { key: keyOf(ref.namespace, ref.name), urgent: type === 'gone' }
  }
}

const editedOf = (app: Fact) => [
  ...[generationOf(app), app.deleting],
  ...Object.values(appAnnotations).map(name => annotationsOf(app)[name]),
]

/**
 * The app of an object, if the event concerns it. A write of others, or an end, is urgent; a new object is not, since it was just
 * made. Neither is a status.
 */
function* ofObject(change: Change<Fact>, { sights }: AppWorld): Generator<Poke> {
  const { namespace, name, type, value } = change
  const id = idOf(value) ?? (name.startsWith('app-') ? name.replace(/^app-|-(group|proxy)$/g, '') : undefined)
  if (id === undefined) return
  const key = keyOf(namespace, id)
  if (!sights.applications.get(key)) return
  const previous = type === 'put' ? change.previous : undefined
  const urgent = isAnothers(change)
  if (previous && !urgent && isDeepStrictEqual(shownOf(previous), shownOf(value))) return
  yield { key, urgent }
}

/** The app that owns an object, as the object says. */
const idOf = ({ owners }: Fact): string | undefined => owners.find(owner => isParent(owner, appParent))?.name

const shownOf = (fact: Fact) => (fact as ShownFact).shown

function* ofPod(change: Change<Fact>): Generator<Poke> {
  const id = appOfPod(change.value)
  const previous = change.type === 'put' ? (change.previous as PodFact | undefined) : undefined
  const isSame = previous && isDeepStrictEqual(previous.pod, (change.value as PodFact).pod)
  if (id !== '' && !isSame) yield { key: keyOf(change.namespace, id), urgent: false }
}
