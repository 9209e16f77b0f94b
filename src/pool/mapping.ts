/** Makes the input of a pass of what Redis has, and conditional writes of what the pass decided. Pure. */
import type { MachineBrief } from '../dispatch/container.ts'
import type { Decisions, Input, Machine, MachineType, Need, Rules, Waiting } from '../dispatch/types.ts'
import type { HeadOf } from './heads.ts'
import type { Decision, DispatchReading, GroupReading, WaitingBrief } from './ports.ts'

/** What the operator configured. */
export interface PoolRules {
  readonly types: readonly MachineType[]
  readonly rules: Rules
}

/** One text for each need: groups of many tenants share one. */
export const shapeOf = ({ vcpus, ramBytes, scratchBytes, gpus, preemptible }: Need): string =>
  [vcpus, ramBytes, scratchBytes, gpus, preemptible ? 'p' : ''].join(' ')

/** The number that was drawn for a container, which its name ends with. */
export const opOf = (uuid: string): number => Number.parseInt(uuid.slice(-15), 36)

export function inputOf(reading: DispatchReading, { types, rules }: PoolRules, maxContainers: number): Input {
  const { groups, assigned, machines, throttle, nowMs, heldOp } = reading
  const byId = new Map(groups.map(group => [group.id, group]))
  const queue = new Map<string, Waiting>()
  const add = (brief: WaitingBrief, group: GroupReading | undefined) => {
    if (group && !isHeld(brief.uuid, heldOp)) queue.set(brief.uuid, waitingOf(brief, group))
  }
  for (const group of groups) for (const brief of group.head) add(brief, group)
  for (const brief of assigned) add(brief, byId.get(brief.group))
  return {
    shapes: new Map(groups.map(({ need }) => [shapeOf(need), need])),
    queue: [...queue.values()],
    machines: machines.map(brief => machineOf(brief, heldOp)),
    types,
    rules: { ...rules, maxContainers },
    throttle,
    nowMs,
  }
}

const isHeld = (uuid: string, heldOp: number): boolean => heldOp > 0 && opOf(uuid) <= heldOp

function waitingOf({ uuid, priority, queuedMs, attempts }: WaitingBrief, { need, tenant, supervisor }: GroupReading) {
  return { ...{ uuid, shape: shapeOf(need), tenant, priority, queuedMs, attempts, supervisor } }
}

function machineOf(brief: MachineBrief, heldOp: number): Machine {
  const { name, type, tenant, state, sinceMs, probedMs, idleBehavior, broken, ending, container } = brief
  return {
    ...{ id: name, type, tenant, sinceMs, probedMs, idleBehavior },
    state: ending === '' ? state : 'shutdown',
    broken: broken !== '',
    // What is on hold counts as sent, so that nobody takes it back: a machine may run it, though Redis has forgotten.
    ...(container && {
      container: {
        uuid: container.uuid,
        sent: container.run > 0 || isHeld(container.uuid, heldOp),
        supervisor: container.supervisor,
      },
    }),
  }
}

/** What the pass saw of each group. Those on hold were not seen, and are not waited for. */
export function headsOf({ groups, heldOp }: DispatchReading): HeadOf[] {
  return groups.flatMap(({ need, tenant, supervisor, count, head }) => {
    const last = head.at(-1)
    if (!last || head.every(({ uuid }) => isHeld(uuid, heldOp))) return []
    return [{ shape: shapeOf(need), tenant, supervisor, count, seen: head.length, lastPriority: last.priority }]
  })
}

/** The sentences of groups by their id. */
export function statusesOf(
  { groups, heldOp }: DispatchReading,
  { statuses }: Decisions,
  heldWords: string,
): ReadonlyMap<string, string> {
  const key = (shape: string, tenant: string, supervisor: boolean) => JSON.stringify([shape, tenant, supervisor])
  const sentences = new Map(
    statuses.map(({ shape, tenant, supervisor, sentence }) => [key(shape, tenant, supervisor), sentence]),
  )
  return new Map(
    groups.flatMap(({ id, need, tenant, supervisor, head }): [string, string][] => {
      const sentence = sentences.get(key(shapeOf(need), tenant, supervisor))
      if (sentence !== undefined) return [[id, sentence]]
      return head.some(({ uuid }) => isHeld(uuid, heldOp)) ? [[id, heldWords]] : []
    }),
  )
}

/**
 * Writes in their order. Each names the versions that it needs: those that were read, and one more for each write before it.
 * So where one fails, those that build on it fail too.
 */
export function writesOf(
  { unassign, assign, create, shutdown, fail }: Decisions,
  reading: DispatchReading,
): Decision[] {
  const containers = new Versions([...reading.groups.flatMap(({ head }) => head), ...reading.assigned], 'uuid')
  const machines = new Versions(reading.machines, 'name')
  const ofBoth = ({ container, machine }: { container: string; machine: string }) => ({
    ...{ container, containerVersion: containers.next(container) },
    ...{ machine, machineVersion: machines.next(machine) },
  })
  return [
    ...unassign.map(each => ({ kind: 'unassign' as const, ...ofBoth(each) })),
    ...assign.map(each => ({ kind: 'assign' as const, ...ofBoth(each) })),
    ...create.map(each => ({ kind: 'create' as const, ...each, containerVersion: containers.next(each.container) })),
    ...shutdown.map(each => ({ kind: 'shutdown' as const, ...each, machineVersion: machines.next(each.machine) })),
    ...fail.map(each => ({ kind: 'fail' as const, ...each, containerVersion: containers.next(each.container) })),
  ]
}

class Versions<Key extends string> {
  readonly #next: Map<string, number>

  constructor(all: readonly ({ readonly version: number } & { readonly [K in Key]: string })[], key: Key) {
    this.#next = new Map(all.map(each => [each[key], each.version]))
  }

  /** @returns the version before this write; −1 of what was not read, which no write finds */
  next(name: string): number {
    const version = this.#next.get(name)
    if (version === undefined) return -1
    this.#next.set(name, version + 1)
    return version
  }
}
