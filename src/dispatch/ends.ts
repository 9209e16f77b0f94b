/** Says which machines end, and when the next one may. Pure. */
import type { Ledger } from './ledger.ts'
import { isBusy, type Slot } from './slots.ts'
import type { Input, Machine, ShutdownReason } from './types.ts'

/** Why a machine ends whatever the queue has. A machine on hold never does, and nothing ends twice. */
export function givenUp(machine: Machine, isKnownType: boolean, { rules, nowMs }: Input): ShutdownReason | undefined {
  const { state, idleBehavior, broken } = machine
  if (idleBehavior === 'hold' || state === 'shutdown') return undefined
  const deadline = deadlineOf(machine, rules)
  if (deadline && deadline.atMs <= nowMs) return deadline.why
  if (isBusy(machine) || state === 'unknown') return undefined
  if (broken) return 'broken'
  if (idleBehavior === 'drain') return 'drain'
  return isKnownType ? undefined : 'type'
}

/** A machine boots, or answers probes, or is given up. Its containers are queued again only by proof, which is not asked here. */
function deadlineOf(
  { state, sinceMs, probedMs }: Machine,
  rules: Input['rules'],
): { atMs: number; why: ShutdownReason } | undefined {
  if (state === 'creating' || state === 'shutdown') return undefined
  if (state === 'booting') return { atMs: sinceMs + rules.timeoutBootingMs, why: 'boot' }
  return { atMs: Math.max(sinceMs, probedMs) + rules.timeoutProbeMs, why: 'unreachable' }
}

/** Ends what the pass left unused: at once where room is needed, else after the time for idle machines. */
export function endUnused(slots: readonly Slot[], ledger: Ledger, input: Input): [Slot, ShutdownReason][] {
  const ended: [Slot, ShutdownReason][] = []
  for (const slot of slots) {
    if (slot.isBusy || slot.users.length > 0 || slot.leaves) continue
    const why = unusedReason(slot, ledger, input)
    if (!why) continue
    slot.leaves = true
    ledger.leave(slot.type, slot.tenant)
    ended.push([slot, why])
  }
  return ended
}

function unusedReason(
  { machine, type, tenant }: Slot,
  ledger: Ledger,
  { throttle, rules, nowMs }: Input,
): ShutdownReason | undefined {
  if (machine.state === 'creating') return undefined
  if (ledger.owes(type, tenant, -1)) return 'room'
  if (machine.state !== 'idle') return undefined
  if (throttle.hurry) return 'room'
  return machine.sinceMs + rules.timeoutIdleMs <= nowMs ? 'idle' : undefined
}

/** The first time at which time alone changes something. */
export function nextDueMs({ machines, rules, throttle, nowMs }: Input): number | undefined {
  let due = Number.POSITIVE_INFINITY
  const at = (ms: number) => {
    if (ms > nowMs && ms < due) due = ms
  }
  for (const machine of machines) {
    if (machine.idleBehavior === 'hold') continue
    const deadline = deadlineOf(machine, rules)
    if (deadline) at(deadline.atMs)
    if (machine.state === 'idle') at(machine.sinceMs + rules.timeoutIdleMs)
  }
  at(throttle.createAfterMs)
  for (const { untilMs } of throttle.quotas.values()) at(untilMs)
  for (const { untilMs } of throttle.capacity.values()) at(untilMs)
  return Number.isFinite(due) ? due : undefined
}
