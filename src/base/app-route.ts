/**
 * The facts about an app that a gateway needs, as the controller of apps writes them to Redis. Types alone.
 *
 * - **app**: a PhApplication, by its name, the **id**. In a cluster one app has an id: the oldest of those of this name.
 * - **route**: where the requests of an app go, and who may send some.
 */

/** Seed 001, "status.phase". */
export const appPhases = ['Starting', 'Ready', 'Updating', 'Stopping', 'Stopped', 'Error'] as const
export type AppPhase = (typeof appPhases)[number]

/** Seed 001, "spec.scope": members of the group, everybody who is logged in, everybody. */
export const appScopes = ['group', 'primehub', 'public'] as const
export type AppScope = (typeof appScopes)[number]

/** Beyond `spec.scope`, so that more kinds of things can have a route. */
export type Audience =
  | { readonly kind: 'public' }
  | { readonly kind: 'loggedIn' }
  /** Of the route's group. */
  | { readonly kind: 'members' }

export interface AppRoute {
  /** The app's name. */
  readonly id: string
  /** Of the PhApplication. */
  readonly uid: string
  /** When the PhApplication was made, in ms since the epoch: of two with one id the older has it. */
  readonly createdMs: number
  readonly generation: number
  readonly namespace: string
  readonly displayName: string
  readonly group: string
  readonly audience: Audience
  readonly phase: AppPhase
  /** For people; at most 1,000 characters. */
  readonly message: string
  /** The Service's cluster IP and port; absent where the app has no web interface, or no Service yet. */
  readonly address?: { readonly ip: string; readonly port: number } | undefined
  /** `name.namespace:port` of the Service, which the app sees as `Host`. */
  readonly host: string
  /** The prefix is cut off before the app sees a path. */
  readonly rewrite: boolean
  /** The app sees the public `Host`. */
  readonly passHost: boolean
  /** The app sees an `Authorization` that the identity source does not know. */
  readonly passAuthorization: boolean
}
