/** A request that is carried to its app, and what carries it. */
import { appPrefix } from '../../apps/names.ts'
import type { Clock } from '../../base/clock.ts'
import type { GatewayConfig } from '../../config/gateway.ts'
import type { Cuts } from '../access/cuts.ts'
import type { Site } from '../policy/site.ts'
import type { AppTarget } from '../policy/target.ts'
import type { Destination, Ending } from '../terms.ts'
import type { Sockets } from '../websocket/sockets.ts'
import type { Activity } from './activity.ts'
import type { Entry, Judge } from './judge.ts'
import type { Report } from './report.ts'
import type { Visit } from './visit.ts'

/** Sends the request to this destination. */
export type Send = (to: Destination) => Promise<Ending>

export interface CarrierParts {
  readonly config: GatewayConfig
  readonly cuts: Pick<Cuts, 'add'>
  readonly judge: Pick<Judge, 'startOf'>
  readonly activity: Pick<Activity, 'use' | 'saw' | 'begin'>
  readonly sockets: Sockets
  /** `api.limits.stallTimeoutSeconds`. */
  readonly stallMs: number
  readonly clock: Clock
}

export interface Carriage {
  readonly visit: Visit
  readonly target: AppTarget
  /** Where browsers see the app. */
  readonly site: Site
  readonly entry: Entry
  readonly report: Report
  readonly send: Send
}

/** Whether a request says that somebody uses the app. */
export function isUse({ id, path }: AppTarget, { user }: Entry, { activity }: GatewayConfig): boolean {
  const { anonymous, ignorePaths } = activity
  if (user === undefined && !anonymous) return false
  if (ignorePaths.length === 0) return true
  const rest = path.slice(appPrefix(id).length)
  return !ignorePaths.some(ignored => rest.startsWith(ignored))
}
