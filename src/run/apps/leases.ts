/** Joins what apps have in Redis: leases, tables, intents and a bell. */
import { IntentStore } from '../../store/apps/intents.ts'
import { MemberStore } from '../../store/apps/members.ts'
import { AppsBell } from '../../store/apps/rings.ts'
import { RouteStore } from '../../store/apps/routes.ts'
import type { Basics } from '../basics.ts'
import { joinLeases } from '../declared-leases.ts'

export type AppAccess = ReturnType<typeof joinAccess>

/**
 * Most rings are of routes, which replicas have written themselves. A ring is heard at once when none came before it for 100 ms.
 * Others are heard up to 100 ms later, also a start that a member asks for.
 */
const pauses = { forRingMs: 100, mostMs: 100 }

export function joinAccess(basics: Basics) {
  const { clock, log } = basics
  const onError = (err: unknown) => log.error({ err }, 'a listener of the bell failed')
  const { connection, keys, leases } = joinLeases(basics)
  return {
    ...{ connection, keys, leases },
    bell: new AppsBell(connection, keys, clock, onError, pauses),
    routes: new RouteStore(connection, keys),
    members: new MemberStore(connection, keys),
    intents: new IntentStore(connection, keys),
  }
}
