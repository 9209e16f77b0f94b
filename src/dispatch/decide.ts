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
  for (const { user, machine } of pass.slots) {
    if (user && user.uuid !== machine.container?.uuid) assign.push({ container: user.uuid, machine: machine.id })
  }
  return {
    unassign: unassigned(input, pass),
    assign,
    create: pass.create,
    shutdown: shutdown.map(([{ machine }, why]) => ({ machine: machine.id, why })),
    fail: pass.fail,
    statuses: pass.groups.statuses(),
    dueMs: nextDueMs(input),
  }
}

/** Also what machines have that nobody may be given any more. */
function unassigned({ machines }: Input, { slots }: Pass): Placed[] {
  const kept = new Map(slots.map(({ machine, user }) => [machine.id, user?.uuid]))
  return machines.flatMap(({ id, state, container }) =>
    container && !container.sent && state !== 'running' && kept.get(id) !== container.uuid
      ? [{ container: container.uuid, machine: id }]
      : [],
  )
}
