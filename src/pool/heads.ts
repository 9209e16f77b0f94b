/**
 * A pass sees only the head of each group of containers. Where a whole head got machines, and the group has more, others may
 * have got what those behind the head come first for. So such a pass decides less, and another one follows at once. Pure.
 */
import type { Decisions, Placed, ShutdownReason } from '../dispatch/types.ts'

/** A group of containers with the same need, tenant and role, as far as the pass sees it. */
export interface HeadOf {
  readonly shape: string
  readonly tenant: string
  readonly supervisor: boolean
  /** Of all that wait. */
  readonly count: number
  /** How many the pass saw, from the most urgent on. */
  readonly seen: number
  /** The priority of the last that it saw. */
  readonly lastPriority: number
}

/** What is seen of all groups together, about: with 10,000 machines a pass takes 30 ms then, and 100 ms of 100,000. */
export const seenInAll = 8_000
const fewest = 2
const most = 500

/** How many containers of each group a pass reads, when the last one had so many groups. */
export const headLimit = (groups: number): number =>
  Math.max(fewest, Math.min(most, Math.floor(seenInAll / Math.max(1, groups))))

/** Shapes have no such sign, and whatever a tenant is called comes last. */
export const groupKey = ({ shape, tenant, supervisor }: Pick<HeadOf, 'shape' | 'tenant' | 'supervisor'>): string =>
  `${supervisor ? 1 : 0}|${shape}|${tenant}`

/** Those that nobody in the queue uses: a container behind a head might. */
const forWantOfUse: ReadonlySet<ShutdownReason> = new Set(['idle', 'room'])

export interface Trimmed {
  readonly decisions: Decisions
  /** Another pass sees more. */
  readonly again: boolean
}

/** @param priorityOf of a container that the pass saw */
export function withoutDoubtful(
  decisions: Decisions,
  groups: readonly HeadOf[],
  priorityOf: (container: string) => number | undefined,
): Trimmed {
  const waits = new Set(decisions.statuses.map(groupKey))
  const exhausted = groups.filter(group => group.count > group.seen && !waits.has(groupKey(group)))
  if (exhausted.length === 0) return { decisions, again: false }
  const cut = Math.max(...exhausted.map(({ lastPriority }) => lastPriority))
  const isLess = (container: string) => (priorityOf(container) ?? cut) < cut
  const assign = decisions.assign.filter(({ container }) => !isLess(container))
  const create = decisions.create.filter(({ container }) => !isLess(container))
  const shutdown = decisions.shutdown.filter(({ why }) => !forWantOfUse.has(why))
  const kept = new Set([...assign, ...shutdown].map(({ machine }) => machine))
  const moved = new Set([...assign, ...create].map(({ container }) => container))
  // Who loses a machine loses it to somebody, with the machine, or for another: else he keeps it until the next pass.
  const isNeeded = ({ container, machine }: Placed) => kept.has(machine) || moved.has(container) || !isLess(container)
  const unassign = decisions.unassign.filter(isNeeded)
  return { decisions: { ...decisions, assign, create, shutdown, unassign }, again: true }
}
