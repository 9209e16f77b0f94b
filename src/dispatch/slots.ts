/** Machines during a pass: who has them, and what is left of them. Pure. */
import { add, fitsIn, nothing, type Room, roomOf, type Share, shareOf } from './room.ts'
import type { Machine, MachineType, Rules, Waiting } from './types.ts'

/** `new`: this pass creates it. */
export type Readiness = 'idle' | 'booting' | 'new'

/** A container that a machine has and was not asked to run, until its turn comes: it may lose its place to those before it. */
export interface Holder {
  readonly uuid: string
  /** In the queue. */
  readonly place: number
  readonly share: Share
}

export interface Place {
  readonly type: MachineType
  readonly readiness: Readiness
  /** The tenant of its containers, as far as the pass came. */
  tenant: string
  /** It was asked to run some. */
  readonly isBusy: boolean
  /** In turn. */
  readonly holders: Holder[]
  /** The containers that get it, in turn. */
  readonly users: Waiting[]
  /** The room beside the containers that it was asked to run, and those that it gets. */
  readonly left: Room
  /** A part of that, which holders have. */
  readonly held: Room
  /** It is shut down. */
  leaves: boolean
  /** The pile in which it is found as one that may be shared. */
  pile: Place[] | undefined
}

/** A machine that is there. */
export interface Slot extends Place {
  readonly machine: Machine
  readonly readiness: Exclude<Readiness, 'new'>
}

/** A container may run on it: nothing of ours interrupts that. */
export const isBusy = ({ state, containers }: Machine): boolean =>
  state === 'running' || containers.some(({ sent }) => sent)

const readinessOf = ({ state }: Machine): Slot['readiness'] =>
  state === 'idle' || state === 'running' ? 'idle' : 'booting'

export function slotOf(machine: Machine, type: MachineType, rules: Rules): Slot {
  const readiness = readinessOf(machine)
  const slot = { ...placeOf(type, machine.tenant, rules), machine, readiness, isBusy: isBusy(machine) }
  for (const { sent, need } of machine.containers) if (sent) add(slot.left, shareOf(need, rules), -1)
  return slot
}

export const newPlace = (type: MachineType, tenant: string, rules: Rules): Place => ({
  ...placeOf(type, tenant, rules),
  readiness: 'new',
})

const placeOf = (type: MachineType, tenant: string, rules: Rules): Omit<Place, 'readiness'> => ({
  ...{ type, tenant, isBusy: false, holders: [], users: [], leaves: false, pile: undefined },
  ...{ left: roomOf(type, rules), held: { ...nothing } },
})

export function hold(slot: Place, holder: Holder): void {
  // A queue may have a container twice.
  if (slot.holders.some(({ uuid }) => uuid === holder.uuid)) return
  slot.holders.push(holder)
  add(slot.held, holder.share, 1)
}

/** @returns whether this place of the queue held a part of it */
export function letGo(slot: Place, place: number): boolean {
  const at = slot.holders.findIndex(each => each.place === place)
  if (at < 0) return false
  const [holder] = slot.holders.splice(at, 1)
  add(slot.held, holder!.share, -1)
  return true
}

export function use(slot: Place, container: Waiting, share: Share): void {
  slot.tenant = container.tenant
  slot.users.push(container)
  add(slot.left, share, -1)
}

/** Whether it has a container that it keeps. */
export const isUsed = ({ isBusy, users }: Place): boolean => isBusy || users.length > 0

export const fitsLeft = ({ left }: Place, share: Share): boolean => fitsIn(left, share, nothing)

/** Also beside those who hold a part of it. */
export const fitsFree = ({ left, held }: Place, share: Share): boolean => fitsIn(left, share, held)
