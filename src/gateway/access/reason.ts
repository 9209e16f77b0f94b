/** Why something that is open may be so no longer, by what is known here. */
import type { Access } from './access.ts'
import type { CutReason } from './guard.ts'
import { type Open, personOf } from './open-index.ts'
import type { RouteTable } from './tables.ts'

export interface Known {
  readonly access: Pick<Access, 'permits'>
  readonly routes: Pick<RouteTable, 'get'>
}

/** @returns undefined where nothing is against it */
export function reasonAgainst(open: Open, { access, routes }: Known): CutReason | undefined {
  const { appId, appUid } = open.opening
  const route = routes.get(appId)
  if (route === 'unknown') return undefined
  if (route?.uid !== appUid) return 'gone'
  if (route.phase === 'Stopping' || route.phase === 'Stopped') return 'stopped'
  return access.permits(route, personOf(open)) === false ? 'forbidden' : undefined
}
