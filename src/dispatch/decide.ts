/**
 * One pass over queue and machines: who gets which machine, which are created, and which end. It speaks to nobody, has no
 * clock, and remembers nothing. docs/dispatch-scheduler.md explains the rules. Pure.
 */
import { endUnused, nextDueMs } from './ends.ts'
import { Pass } from './pass.ts'
import type { Decisions, Input, Placed } from './types.ts'

export function decide(input: Input): Decisions {
  const pass = new Pass(input)
  pass.placeAll()
  const shutdown = [...pass.ended, ...endUnused(pass.slots, pass.ledger, input)]
  const assign: Placed[] = []
  for (const { users, machine } of pass.slots) {
    for (const { uuid } of users) {
      if (!machine.containers.some(each => each.uuid === uuid)) assign.push({ container: uuid, machine: machine.id })
    }
  }
  return {
    unassign: unassigned(input, pass),
    assign,
    create: pass.created.map(({ type, tenant, users }) => ({
      ...{ type: type.name, tenant, containers: users.map(({ uuid }) => uuid) },
    })),
    shutdown: shutdown.map(([{ machine }, why]) => ({ machine: machine.id, why })),
    fail: pass.fail,
    statuses: pass.groups.statuses(),
    dueMs: nextDueMs(input),
  }
}

/** Also what machines have that nobody may be given any more. */
function unassigned({ machines }: Input, { slots }: Pass): Placed[] {
  const kept = new Map(slots.map(({ machine, users }) => [machine.id, users]))
  const isKept = (id: string, container: string) => kept.get(id)?.some(({ uuid }) => uuid === container)
  const taken: Placed[] = []
  for (const { id, containers } of machines) {
    for (const { uuid, sent } of containers)
      if (!sent && !isKept(id, uuid)) taken.push({ container: uuid, machine: id })
  }
  return taken
}
