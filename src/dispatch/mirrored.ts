/**
 * Decides what is owed to Arvados, and to our queue, of one container that is in both. Pure. It compares states, and keeps no
 * list of messages: a lost report is owed again, and Arvados refuses a repeated one as an invalid transition. So the order is
 * always Locked, Running, and an end.
 */
import type { ContainerState } from './container.ts'

/** The container in Arvados. */
export interface Theirs {
  readonly uuid: string
  readonly state: ContainerState
  /** On our scale, 0 to 1000. */
  readonly priority: number
  /** Whether it is locked by our token. */
  readonly mine: boolean
}

/** Our record of it. Times are Redis' clock; 0 is never. */
export interface Ours {
  /** No machine was asked to run it. */
  readonly waits: boolean
  readonly state: ContainerState
  readonly priority: number
  /** How often a machine was asked to run it without beginning it. */
  readonly attempts: number
  readonly startedMs: number
  readonly finishedMs: number
  readonly exitCode: number | undefined
  readonly trouble: string
  readonly pricePerHour: number
  /** It is to be killed, or was. */
  readonly cancelling: boolean
}

export interface Mirrored {
  /** The uuid in Arvados. */
  readonly theirs: string
  readonly uuid: string
  /** It left our queue, and Arvados must learn that we do not run it. */
  readonly back: boolean
  /** Null if the record has expired. */
  readonly ours: Ours | null
}

export type Attributes = Readonly<Record<string, unknown>>

/** A write to Arvados. */
export type Telling = { readonly what: 'unlock' } | { readonly what: 'update'; readonly attributes: Attributes }

export type Duty =
  | { readonly do: 'tell'; readonly telling: Telling }
  | { readonly do: 'cancel'; readonly reason: string }
  | { readonly do: 'prioritise'; readonly priority: number }
  | { readonly do: 'back' }
  | { readonly do: 'forget' }

const final = (state: ContainerState): boolean => state === 'Complete' || state === 'Cancelled'
const tell = (telling: Telling): Duty => ({ do: 'tell', telling })
const update = (attributes: Attributes): Duty => tell({ what: 'update', attributes })
const timeOf = (ms: number): string => new Date(ms).toISOString()

/** In Arvados' words for people: names of variables and paths, which users write, are among them. */
export const mostOfWords = 1000
const withError = (error: string) => ({ runtime_status: { error: error.slice(0, mostOfWords).toWellFormed() } })

export const cancelled = (error: string): Attributes => ({ state: 'Cancelled', ...withError(error) })

/** @param theirs null if Arvados has none of this uuid; undefined while that is not known. @returns undefined if nothing is owed */
export function dutyOf({ back, ours }: Mirrored, theirs: Theirs | null | undefined): Duty | undefined {
  if (theirs === undefined) return undefined
  if (!theirs || final(theirs.state) || !theirs.mine)
    return !ours || final(ours.state) ? { do: 'forget' } : cancelOnce(ours, reasonOf(theirs))
  if (back) return theirs.state === 'Locked' ? tell({ what: 'unlock' }) : update(cancelled(lost))
  if (!ours) return update(cancelled('its record is gone'))
  return theirs.state === 'Locked' ? dutyOfLocked(ours, theirs) : dutyOfRunning(ours, theirs)
}

const lost = 'its run was lost'

const cancelOnce = ({ cancelling }: Ours, reason: string): Duty | undefined =>
  cancelling ? undefined : { do: 'cancel', reason }

function reasonOf(theirs: Theirs | null): string {
  if (!theirs) return 'it is not in Arvados any more'
  if (final(theirs.state)) return `it is ${theirs.state} in Arvados`
  return 'it is not locked for Skylab in Arvados any more'
}

function dutyOfLocked(ours: Ours, { priority }: Theirs): Duty | undefined {
  // A failed attempt counts in Arvados, which cancels it after some.
  if (ours.waits && (ours.attempts > 0 || priority === 0)) return { do: 'back' }
  if (ours.state === 'Running' || ours.state === 'Complete')
    return update({ state: 'Running', started_at: timeOf(ours.startedMs) })
  if (ours.state === 'Cancelled') {
    // Nobody wants it now: it may be wanted again.
    if (priority === 0 && ours.startedMs === 0) return tell({ what: 'unlock' })
    return update(cancelled(ours.trouble || 'it was cancelled'))
  }
  return dutyOfPriority(ours, priority)
}

function dutyOfRunning(ours: Ours, { priority }: Theirs): Duty | undefined {
  // Redis went back behind its start: it must not begin again.
  if (ours.waits) return cancelOnce(ours, lost)
  if (ours.state === 'Complete') return update({ state: 'Complete', exit_code: ours.exitCode ?? 0, ...endOf(ours) })
  if (ours.state === 'Cancelled')
    return update({ state: 'Cancelled', ...withError(ours.trouble || 'it was cancelled'), ...endOf(ours) })
  return dutyOfPriority(ours, priority)
}

/** Priority 0 stops one that a machine was asked to run. */
const dutyOfPriority = (ours: Ours, priority: number): Duty | undefined =>
  ours.priority === priority ? undefined : { do: 'prioritise', priority }

function endOf({ startedMs, finishedMs, pricePerHour }: Ours) {
  const hours = startedMs === 0 ? 0 : Math.max(0, finishedMs - startedMs) / 3_600_000
  return { finished_at: timeOf(finishedMs), cost: hours * pricePerHour }
}

/** Arvados' priority of a container is that of its request times this, less the time of the request in milliseconds. */
const priorityUnit = 2 ** 50

/** @returns on our scale: 0 to 1000 */
export function priorityOf(theirs: number): number {
  if (!(theirs > 0)) return 0
  return Math.min(1000, theirs <= 1000 ? Math.ceil(theirs) : Math.ceil(theirs / priorityUnit))
}

/**
 * Chooses those that are to be locked now: as long as fewer than `most` of the same or a higher priority wait here, and fewer
 * than twice as many in all.
 * @param candidates by priority, highest first
 */
export function chosenOf<C extends { readonly priority: number }>(
  candidates: readonly C[],
  mirrored: readonly Mirrored[],
  most: number,
): C[] {
  const waiting = mirrored.flatMap(({ ours }) => (ours?.waits ? [ours.priority] : []))
  const chosen: C[] = []
  for (const candidate of candidates) {
    const above = waiting.filter(priority => priority >= candidate.priority).length
    if (above >= most || waiting.length >= 2 * most) continue
    waiting.push(candidate.priority)
    chosen.push(candidate)
  }
  return chosen
}
