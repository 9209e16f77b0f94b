/** Makes the input of a pass of what Redis has, and conditional writes of what the pass decided. Pure. */

import type { OfferedType } from '../dispatch/configured.ts'
import type { MachineBrief } from '../dispatch/container.ts'
import { type Limits, limitsOf } from '../dispatch/room.ts'
import type { Decisions, Input, Machine, Need, Placed, Rules, Waiting } from '../dispatch/types.ts'
import type { At, Decision, Queued, QueueGroup, Reading } from '../store/dispatch/scheduling.ts'
import { groupKey, type HeadOf } from './heads.ts'

/** The operator's configuration. */
export interface PoolRules {
  readonly types: readonly Omit<OfferedType, 'addedScratchBytes'>[]
  readonly rules: Rules
}

/** After a loss of Redis containers up to this op may be unknown, and are not touched. 0 when all is known. */
export type HeldOp = number

/** One text for each need: groups of many tenants share one. */
export const shapeOf = ({ vcpus, ramBytes, scratchBytes, gpus, preemptible }: Need): string =>
  [vcpus, ramBytes, scratchBytes, gpus, preemptible ? 'p' : ''].join(' ')

/** The number that was drawn for a container, which its name ends with. */
export const opOf = (uuid: string): number => Number.parseInt(uuid.slice(-15), 36)

const isHeld = (uuid: string, heldOp: HeldOp): boolean => heldOp > 0 && opOf(uuid) <= heldOp

/** Facts that a pass has beside the records that it reads. */
export interface Known {
  readonly maxContainers: number
  readonly heldOp: HeldOp
  /** Since when somebody has scheduled without a gap. */
  readonly watchedMs: number
}

export function inputOf(
  { groups, queue, machines, throttle, nowMs }: Reading,
  { types, rules }: PoolRules,
  known: Known,
): Input {
  const { maxContainers, heldOp } = known
  const shapes = new Map(groups.map(({ id, need }) => [id, shapeOf(need)]))
  const offered = new Map(types.map(({ name, providerType }) => [name, providerType]))
  const waiting = (each: Queued): Waiting => ({ ...each, shape: shapes.get(each.shape) ?? each.shape })
  return {
    shapes: new Map(groups.map(({ need }) => [shapeOf(need), need])),
    queue: (heldOp > 0 ? queue.filter(({ uuid }) => !isHeld(uuid, heldOp)) : queue).map(waiting),
    machines: machines.map(brief => machineOf(brief, offered, known)),
    types,
    rules: { ...rules, maxContainers },
    throttle,
    nowMs,
  }
}

/** @param offered what the cloud calls each type now */
function machineOf(brief: MachineBrief, offered: ReadonlyMap<string, string>, { heldOp, watchedMs }: Known): Machine {
  const { name, type, providerType, tenant, state, sinceMs, probedMs, idleBehavior, broken, ending, containers } = brief
  // A machine of another type of the cloud has other room. Where the cloud does not tell its type, this is ''.
  const isAsOffered = providerType === '' || offered.get(type) === providerType
  return {
    ...{ id: name, type: isAsOffered ? type : '', tenant, idleBehavior, broken: broken !== '' },
    // Nothing was late while nobody looked: after a pause all machines seem silent, and what runs there runs on.
    sinceMs: state === 'booting' ? Math.max(sinceMs, watchedMs) : sinceMs,
    probedMs: Math.max(probedMs, watchedMs),
    state: ending === '' ? state : 'shutdown',
    containers: containers.map(({ uuid, run, supervisor, need }) => ({
      // A held container counts as sent, so that nobody takes it back: the machine may run it, though Redis has forgotten.
      ...{ uuid, sent: run > 0 || isHeld(uuid, heldOp), supervisor, need },
    })),
  }
}

/** The groups of which the pass saw a part. Where some are held, nothing is decided of those behind them either. */
export function headsOf({ groups, queue, cut }: Reading, heldOp: HeldOp): HeadOf[] {
  const seen = Map.groupBy(
    queue.filter(({ shape }) => cut.has(shape)),
    ({ shape }) => shape,
  )
  return groups.flatMap(({ id, need, tenant, supervisor }) => {
    // Those that have a machine are read from behind the head too.
    const all = (seen.get(id) ?? []).filter(({ machine }) => machine === '')
    if (all.length === 0 || all.some(({ uuid }) => isHeld(uuid, heldOp))) return []
    return [
      { shape: shapeOf(need), tenant, supervisor, lastPriority: Math.min(...all.map(({ priority }) => priority)) },
    ]
  })
}

/** The sentences of groups by their id; '' of those that do not wait. */
export function sentencesOf(
  { groups, queue }: Reading,
  { statuses }: Decisions,
  heldOp: HeldOp,
): ReadonlyMap<string, string> {
  const sentences = new Map(statuses.map(status => [groupKey(status), status.sentence]))
  const held = new Set(queue.filter(({ uuid }) => isHeld(uuid, heldOp)).map(({ shape }) => shape))
  const sentence = ({ id, need, tenant, supervisor }: QueueGroup) =>
    sentences.get(groupKey({ shape: shapeOf(need), tenant, supervisor })) ?? (held.has(id) ? heldSentence : '')
  return new Map(groups.map(group => [group.id, sentence(group)]))
}

const heldSentence = 'It waits: after a loss of data, machines are asked first what they run'

/** A machine to be made, for containers. */
export type Wish = Decisions['create'][number]

/** A decision, with the versions that it was made for. A creation still lacks its drawn values. */
export type Draft =
  | Exclude<Decision, { readonly what: 'create' }>
  | {
      readonly what: 'create'
      readonly container: At
      /** Those that are assigned to it beside that one, once it is there. */
      readonly others: readonly At[]
      readonly room?: Limits
      readonly wish: Wish
    }

/** In the order in which they are to be written: a machine is taken back before it is given away. */
export function draftsOf(
  { unassign, assign, create, shutdown, fail }: Decisions,
  { queue, machines }: Reading,
  { types, rules }: PoolRules,
): Draft[] {
  const versions = new Map(queue.map(({ uuid, version }) => [uuid, version]))
  const briefs = new Map(machines.map(brief => [brief.name, brief]))
  // A record that was not read gets a version that no record has.
  const container = (id: string): At => ({ id, version: versions.get(id) ?? -1 })
  const machine = (id: string): At => ({ id, version: briefs.get(id)?.version ?? -1 })
  const both = (each: Placed) => ({ container: container(each.container), machine: machine(each.machine) })
  // Where machines are not shared, a script needs to count nothing.
  const rooms = new Map(rules.maxContainersPerMachine > 1 ? types.map(type => [type.name, limitsOf(type, rules)]) : [])
  const roomOf = (type = '') => {
    const room = rooms.get(type)
    return { ...(room && { room }) }
  }
  return [
    ...unassign.map(each => ({ what: 'unassign' as const, ...both(each) })),
    ...assign.map(each => ({ what: 'assign' as const, ...both(each), ...roomOf(briefs.get(each.machine)?.type) })),
    ...create.map(wish => {
      const [first, ...others] = wish.containers.map(container)
      return { what: 'create' as const, container: first!, others, ...roomOf(wish.type), wish }
    }),
    ...shutdown.map(({ machine: id, why }) => ({
      ...{ what: 'shutdown' as const, machine: machine(id), probedMs: briefs.get(id)?.probedMs ?? 0, why },
    })),
    ...fail.map(({ container: id, why }) => ({ what: 'fail' as const, container: container(id), why })),
  ]
}
