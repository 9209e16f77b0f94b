/** The world of the kind *app*: the watches, and what is handed in. Pure. */
import type { KubeObject } from '../base/domain.ts'
import { keyOf } from '../kube/cache.ts'
import type { Fact } from '../reconcile/types.ts'
import { type AppGroup, type AppSettings, groupsOf } from './groups.ts'
import { type AppPod, isPodOf } from './pods.ts'
import { type CheckedApp, groupNameOf, isOlder, readApp } from './spec.ts'
import { type AppSights, appOfPod, type PodFact } from './watches.ts'

export interface AppWorld {
  readonly sights: AppSights
  readonly settings: AppSettings
  /** Why nothing may be made: the admission policy is missing. Undefined if it is in force. */
  readonly unguarded: () => string | undefined
  /** The same, once it lasts. */
  readonly longUnguarded: () => string | undefined
  /** Whether there is a tenant of this name, whose namespace has the same name. */
  readonly isTenant: (name: string) => boolean
  /** What takes of a group's quota, as the API server has it now. @throws {KubeError} when it does not say */
  readonly usersOf: (namespace: string, group: string, signal: AbortSignal) => Promise<QuotaUsers>
  /** The apps of this id, in all namespaces. */
  readonly named: (id: string) => readonly Fact[]
  readonly inNamespace: (namespace: string) => readonly Fact[]
  /** The pods that an app has made. */
  readonly podsOf: (app: Fact) => readonly AppPod[]
}

/** The Deployments of a group's apps, and all that have the label of their pods. */
export interface QuotaUsers {
  readonly deployments: readonly KubeObject[]
  readonly pods: readonly KubeObject[]
}

/** The parts that are handed in. */
export type AppOutside = Pick<AppWorld, 'settings' | 'unguarded' | 'longUnguarded' | 'isTenant' | 'usersOf'>

export function appWorld(sights: AppSights, outside: AppOutside): AppWorld {
  const pods = sights.pods.index(fact => [keyOf(fact.ref.namespace, appOfPod(fact))])
  return {
    ...{ sights, ...outside },
    named: sights.applications.index(({ ref }) => [ref.name]),
    inNamespace: sights.applications.index(({ ref }) => [ref.namespace ?? '']),
    podsOf: ({ ref }) =>
      pods(keyOf(ref.namespace, ref.name))
        .map(fact => (fact as PodFact).pod)
        .filter(pod => isPodOf(ref.name, pod)),
  }
}

/** The spec of an app, and the reason why it is not made as it is: by itself, or by other objects. */
export const checkedApp = (app: Fact, world: AppWorld): CheckedApp =>
  readApp(app, world.settings, { groups: groupsAround(app, world), isTaken: isTaken(app, world) })

/** The groups that its namespace serves. */
export const groupsAround = ({ ref }: Fact, { settings, isTenant }: AppWorld): readonly AppGroup[] =>
  groupsOf(ref.namespace ?? '', settings, isTenant)

/** An app of no group takes its id from nobody: else a user with any namespace could take every id. */
const isTaken = (app: Fact, world: AppWorld): boolean =>
  world
    .named(app.ref.name)
    .some(
      other =>
        other.uid !== app.uid &&
        isOlder(other, app) &&
        groupsAround(other, world).some(({ name }) => name === groupNameOf(other)),
    )
