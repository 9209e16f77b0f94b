/** Joins what apps have in Redis: leases, tables, intents and a bell. */
import { IntentStore } from '../../store/apps/intents.ts'
import { MemberStore } from '../../store/apps/members.ts'
import { AppsBell } from '../../store/apps/rings.ts'
import { RouteStore } from '../../store/apps/routes.ts'
import type { Basics } from '../basics.ts'
import { joinLeases } from '../declared-leases.ts'

export type AppAccess = ReturnType<typeof joinAccess>

export function joinAccess(basics: Basics) {
  const { clock, log } = basics
  const { connection, keys, leases } = joinLeases(basics)
  return {
    ...{ connection, keys, leases },
    bell: new AppsBell(connection, keys, clock, err => log.error({ err }, 'a listener of the bell failed')),
    routes: new RouteStore(connection, keys),
    members: new MemberStore(connection, keys),
    intents: new IntentStore(connection, keys),
  }
}
