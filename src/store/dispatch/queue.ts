/** The queue as a scheduler reads it, in parts. Pure. */
import type { Waiting } from '../../dispatch/types.ts'
import { parseShape, type Shape } from './forms.ts'

/** `shape` is the id of its group. */
export interface Queued extends Waiting {
  readonly version: number
  /** The machine that it is assigned to; '' without one. */
  readonly machine: string
}

export interface QueueGroup extends Shape {
  readonly id: string
  /** All that wait in it, of which `queue` may have the first ones alone. */
  readonly count: number
}

export interface QueueLimits {
  /** So many of each group are read: the first ones. Those that have a machine are read too, and do not count. */
  readonly perGroup: number
  /** About so many of all groups. */
  readonly inAll: number
}

/** @param flat id, shape and count in turns */
export function groupsOf(flat: readonly unknown[]): QueueGroup[] {
  return Array.from({ length: flat.length / 3 }, (_, i) => ({
    id: String(flat[3 * i]),
    ...parseShape(String(flat[3 * i + 1])),
    count: Number(flat[3 * i + 2]),
  }))
}

/** Containers that one command reads. */
export const atOnce = 1_000

/**
 * The parts of a read: groups, each from which place on and how many. One command reads a part.
 * @param most of each group
 */
export function partsOf(groups: readonly QueueGroup[], most: (id: string) => number): (string | number)[][] {
  const parts: (string | number)[][] = [[]]
  let room = atOnce
  for (const { id, count } of groups) {
    let from = 0
    const until = Math.min(count, most(id))
    while (from < until) {
      if (room === 0) {
        parts.push([])
        room = atOnce
      }
      const size = Math.min(room, until - from)
      parts.at(-1)!.push(id, from, size)
      from += size
      room -= size
    }
  }
  return parts.filter(part => part.length > 0)
}

/** The number to read of each group, so that all are about `inAll`; at least one. */
export function shareOf(groups: readonly QueueGroup[], { perGroup, inAll }: QueueLimits): number {
  let left = inAll
  const counts = groups.map(({ count }) => Math.min(count, perGroup)).sort((a, b) => a - b)
  for (const [i, count] of counts.entries()) {
    const share = Math.floor(left / (counts.length - i))
    if (count > share) return Math.max(1, share)
    left -= count
  }
  return perGroup
}

/** @returns undefined if it does not wait any more, or in a group that was not read */
export function readQueued(
  uuid: string,
  brief: string | null | undefined,
  groups: ReadonlyMap<string, QueueGroup>,
): Queued | undefined {
  if (!brief) return undefined
  const [id, priority, queuedMs, attempts, version, machine] = brief.split(' ')
  const group = groups.get(id!)
  if (!group) return undefined
  return {
    ...{ uuid, shape: id!, tenant: group.tenant, supervisor: group.supervisor, machine: machine ?? '' },
    ...{ priority: Number(priority), queuedMs: Number(queuedMs), attempts: Number(attempts), version: Number(version) },
  }
}
