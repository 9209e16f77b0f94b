/** The room of a machine that containers share: places, processors, memory, scratch space and GPUs. Pure. */
import { neededRam, usableRam } from './fits.ts'
import type { MachineType, Need, Rules } from './types.ts'

/** So much of a machine, or of what is left of it. */
export interface Share {
  readonly places: number
  readonly vcpus: number
  /** With what its machine needs beside it. */
  readonly ramBytes: number
  readonly scratchBytes: number
  readonly gpus: number
}

/** The room that is left on a machine. It changes during a pass. */
export type Room = { -readonly [K in keyof Share]: Share[K] }

type RoomRules = Pick<Rules, 'reserveExtraRamBytes' | 'maxContainersPerMachine'>

/** The share of a container beside others. `fitOf` asks the same of a whole machine. */
export const shareOf = (need: Need, rules: Pick<Rules, 'reserveExtraRamBytes'>): Share => ({
  ...{ places: 1, vcpus: need.vcpus, ramBytes: neededRam(need, rules) },
  ...{ scratchBytes: need.scratchBytes, gpus: need.gpus },
})

export const roomOf = (type: MachineType, { maxContainersPerMachine }: RoomRules): Room => ({
  ...{ places: maxContainersPerMachine, vcpus: type.vcpus, ramBytes: type.ramBytes },
  ...{ scratchBytes: type.scratchBytes, gpus: type.gpus },
})

/** The room of a machine, as the script that assigns counts it. */
export interface Limits {
  readonly places: number
  /** Memory of the machine that is reserved beside that of each container. */
  readonly extraRamBytes: number
  readonly most: Omit<Share, 'places'>
}

export function limitsOf(type: MachineType, rules: Rules): Limits {
  const { places, ramBytes, ...others } = roomOf(type, rules)
  return { places, extraRamBytes: rules.reserveExtraRamBytes, most: { ...others, ramBytes: usableRam(ramBytes) } }
}

export function add(room: Room, { places, vcpus, ramBytes, scratchBytes, gpus }: Share, times: 1 | -1): void {
  room.places += times * places
  room.vcpus += times * vcpus
  room.ramBytes += times * ramBytes
  room.scratchBytes += times * scratchBytes
  room.gpus += times * gpus
}

/** Whether a share fits in what is left, of which others hold a part. */
export const fitsIn = (room: Share, share: Share, held: Share): boolean =>
  share.places <= room.places - held.places &&
  share.vcpus <= room.vcpus - held.vcpus &&
  share.ramBytes <= room.ramBytes - held.ramBytes &&
  share.scratchBytes <= room.scratchBytes - held.scratchBytes &&
  share.gpus <= room.gpus - held.gpus

export const nothing: Share = { places: 0, vcpus: 0, ramBytes: 0, scratchBytes: 0, gpus: 0 }
