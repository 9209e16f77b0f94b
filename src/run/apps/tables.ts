/** Joins the tables that gateways follow: what writes them at once, and what keeps them whole. */

import { mayBeGroup, membersOf } from '../../apps/members.ts'
import { appState, routeOf } from '../../apps/state.ts'
import { appParent } from '../../apps/words.ts'
import { type AppWorld, checkedApp } from '../../apps/world.ts'
import { memberWriter } from '../../appwork/member-writer.ts'
import { routeWriter } from '../../appwork/route-writer.ts'
import { TableKeeper } from '../../appwork/table-keeper.ts'
import type { TenantFollower } from '../../appwork/tenants.ts'
import type { AppRoute } from '../../base/app-route.ts'
import type { AppsConfig } from '../../config/apps.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { ObjectRef } from '../../kube/kinds.ts'
import type { Members } from '../../store/apps/members.ts'
import { tenantParent } from '../../tenants/words.ts'
import type { Basics } from '../basics.ts'
import { memberKeeper } from '../member-table.ts'
import type { AppAccess } from './leases.ts'

export interface TableParts {
  readonly basics: Pick<Basics, 'clock' | 'log'>
  readonly kube: Pick<KubeClient, 'get'>
  readonly access: AppAccess
  readonly world: AppWorld
  readonly tenants: TenantFollower
}

type Gone = (ref: ObjectRef, uid: string, signal?: AbortSignal) => Promise<boolean>

export function joinTables(parts: TableParts) {
  const { kube } = parts
  const isGone: Gone = async (ref, uid, signal) => {
    const object = await kube.get(ref, { agent: 'app-tables', ...(signal && { signal }) })
    return object?.metadata.uid !== uid
  }
  return { routes: joinRoutes(parts, isGone), members: joinMembers(parts, isGone) }
}

function joinRoutes({ basics, access, world }: TableParts, isGone: Gone) {
  const { routes: store, leases, keys } = access
  const { clock, log } = basics
  const appIsGone = (namespace: string, name: string, uid: string, signal?: AbortSignal) =>
    isGone({ ...appParent, namespace, name }, uid, signal)
  const named = (id: string, uid: string) => world.named(id).find(app => app.uid === uid)
  const keeper = new TableKeeper<AppRoute>({
    ...{ clock, log, leases, lease: keys.reconcileLease('app-routes:') },
    table: {
      name: 'routes',
      wanted: () => wantedRoutes(world, clock.wallMs()),
      read: async () => {
        const { routes: entries, complete } = await store.read()
        return { complete, entries }
      },
      version: () => store.table.version(),
      put: (_, route) => store.put(route),
      remove: (id, uid) => store.remove(id, uid, named(id, uid) !== undefined),
      complete: () => store.complete(),
      // It gets nothing now, and takes the id from nobody.
      keeps: (id, { uid }) => named(id, uid) !== undefined && !hasServed(id, world),
      isGone: async (id, { namespace, uid }, signal) =>
        named(id, uid) !== undefined || (await appIsGone(namespace, id, uid, signal)),
    },
  })
  const writer = routeWriter({ store, isGone: appIsGone, onDoubt: () => keeper.compare() })
  return { keeper, writer }
}

function wantedRoutes(world: AppWorld, nowMs: number): ReadonlyMap<string, AppRoute> {
  const wanted = new Map<string, AppRoute>()
  for (const app of world.sights.applications.values()) {
    const state = appState(app, world, nowMs)
    const route = app.deleting || !state.checked.spec ? undefined : routeOf(app, state, world)
    if (route) wanted.set(route.id, route)
  }
  return wanted
}

const hasServed = (id: string, world: AppWorld): boolean =>
  world.named(id).some(app => !app.deleting && checkedApp(app, world).spec !== undefined)

function joinMembers({ basics, access, world, tenants }: TableParts, isGone: Gone) {
  const { groups } = world.settings.apps
  const tenantIsGone = async (name: string, uid: string, signal?: AbortSignal) =>
    isGone({ ...tenantParent, name }, uid, signal)
  const keeper = memberKeeper({
    ...{ basics, leases: access.leases, lease: access.keys.reconcileLease('app-members:'), store: access.members },
    wanted: () => (tenants.isKnown ? wantedMembers(tenants, groups) : undefined),
    keeps: (name, uid) => mayBeGroup(name, groups) && tenants.get(name)?.uid === uid,
    isGone: async (name, uid, signal) => !mayBeGroup(name, groups) || (await tenantIsGone(name, uid, signal)),
  })
  const writer = memberWriter({ store: access.members, isGone: tenantIsGone, onDoubt: () => keeper.compare() })
  return { keeper, writer }
}

function wantedMembers(tenants: TenantFollower, groups: AppsConfig['groups']): ReadonlyMap<string, Members> {
  const named = [...tenants.values()].filter(({ ref }) => mayBeGroup(ref.name, groups))
  return new Map(named.map(fact => [fact.ref.name, membersOf(fact)]))
}
