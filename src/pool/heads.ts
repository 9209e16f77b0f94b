/**
 * A pass sees only the head of each group of containers. Where a whole head got machines, and the group has more, others may
 * have got what those behind the head come first for. So such a pass decides less, and another one follows at once. Pure.
 */
import type { Decisions, Placed, ShutdownReason } from '../dispatch/types.ts'

/** A group of containers with the same need, tenant and role, of which the pass sees the most urgent ones. */
export interface HeadOf {
  readonly shape: string
  readonly tenant: string
  readonly supervisor: boolean
  /** The priority of the last that it saw. */
  readonly lastPriority: number
}

/** About so many are seen of all groups together: with 10,000 machines a pass then takes 30 ms, and 100 ms of 100,000. */
export const seenInAll = 8_000
export const mostOfGroup = 500

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

/**
 * @param cut groups of which the pass saw only a part
 * @param priorityOf of a container that the pass saw
 */
export function withoutDoubtful(
  decisions: Decisions,
  cut: readonly HeadOf[],
  priorityOf: (container: string) => number | undefined,
): Trimmed {
  const waits = new Set(decisions.statuses.map(groupKey))
  const exhausted = cut.filter(group => !waits.has(groupKey(group)))
  if (exhausted.length === 0) return { decisions, again: false }
  const least = Math.max(...exhausted.map(({ lastPriority }) => lastPriority))
  const isLess = (container: string) => (priorityOf(container) ?? least) < least
  const assign = decisions.assign.filter(({ container }) => !isLess(container))
  // The first is the most urgent: without it there is none.
  const create = decisions.create
    .map(each => ({ ...each, containers: each.containers.filter(container => !isLess(container)) }))
    .filter(({ containers }) => containers.length > 0)
  const shutdown = decisions.shutdown.filter(({ why }) => !forWantOfUse.has(why))
  const kept = new Set([...assign, ...shutdown].map(({ machine }) => machine))
  const moved = new Set([
    ...assign.map(({ container }) => container),
    ...create.flatMap(({ containers }) => containers),
  ])
  // A container loses its machine to another, or with the machine, or for another machine: else it keeps it until the next pass.
  const isNeeded = ({ container, machine }: Placed) => kept.has(machine) || moved.has(container) || !isLess(container)
  const unassign = decisions.unassign.filter(isNeeded)
  return { decisions: { ...decisions, assign, create, shutdown, unassign }, again: true }
}
