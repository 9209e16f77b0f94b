/** Joins the leases of a process that carries out custom resources. */
import { Leases } from '../leases/leases.ts'
import type { Connection } from '../store/connection.ts'
import { Keys } from '../store/keys.ts'
import { TaskStore } from '../store/tasks.ts'
import type { Basics } from './basics.ts'
import { connect } from './connect.ts'

export function joinLeases(basics: Basics): {
  readonly connection: Connection
  readonly keys: Keys
  readonly leases: Leases
} {
  const { config, clock } = basics
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
  return { connection, keys, leases }
}

const noOperations = async () => {
  throw new Error('custom resources are no subjects of operations')
}
