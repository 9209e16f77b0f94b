/** Joins what apps have in Redis: leases, tables, intents and a bell. */
import { Leases } from '../../leases/leases.ts'
import { IntentStore } from '../../store/apps/intents.ts'
import { MemberStore } from '../../store/apps/members.ts'
import { AppsBell } from '../../store/apps/rings.ts'
import { RouteStore } from '../../store/apps/routes.ts'
import { Keys } from '../../store/keys.ts'
import { TaskStore } from '../../store/tasks.ts'
import type { Basics } from '../basics.ts'
import { connect } from '../connect.ts'

export type AppAccess = ReturnType<typeof joinLeases>

export function joinLeases(basics: Basics) {
  const { config, clock, log } = basics
  const connection = connect(basics)
  const keys = new Keys(config.redis.keyPrefix)
  const leases = new Leases({
    redis: connection.commands,
    owners: { extend: noOperations, giveBack: noOperations },
    tasks: new TaskStore(connection),
    keyOf: name => keys.lease(name),
    clock,
    ttlMs: config.engine.leaseTtlMs,
  })
  return {
    ...{ connection, keys, leases },
    bell: new AppsBell(connection, keys, clock, err => log.error({ err }, 'a listener of the bell failed')),
    routes: new RouteStore(connection, keys),
    members: new MemberStore(connection, keys),
    intents: new IntentStore(connection, keys),
  }
}

const noOperations = async () => {
  throw new Error('apps are no subjects of operations')
}
