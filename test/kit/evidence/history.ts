/**
 * The requests to a fleet, its answers, and the faults, in the manner of Jepsen: every request is invoked, then ok,
 * failed (a definite refusal) or unknown (no answer, or an answer that leaves open what was done).
 */
import type { LabEvent } from '../../../src/base/domain.ts'

export type Question = 'create' | 'delete' | 'status' | 'user-status' | 'labs' | 'events' | 'other'

interface Timed {
  /** Wall clock, as in logs and the audit log. */
  readonly wallMs: number
  /** Monotonic clock of the test's process. */
  readonly atMs: number
}

export interface Invoked extends Timed {
  readonly type: 'invoke'
  readonly id: number
  /** The caller. */
  readonly by: string
  readonly what: Question
  /** The user of the lab in question; absent for all labs. */
  readonly user?: string
  readonly url: string
  /** A hash of the `Idempotency-Key`. */
  readonly key?: string
  /** The operation whose `complete` was just seen: every replica must know of it. */
  readonly after?: number
}

export interface Answered extends Timed {
  readonly type: 'ok' | 'fail' | 'unknown'
  readonly id: number
  /** Absent if no answer came. */
  readonly status?: number
  readonly value?: Value
}

/** The part of a body that checks need. */
export interface Value {
  readonly lab?: LabValue
  /** For `labs`: the names. */
  readonly names?: readonly string[]
}

export interface LabValue {
  readonly status: string
  readonly present: boolean
  readonly hasUrl: boolean
  /** Of the last event. */
  readonly op?: number | undefined
  /** Number of events. */
  readonly seq: number
}

/** One connection to an event stream, from its opening to its end. */
export interface Transcript extends Timed {
  readonly type: 'stream'
  readonly user: string
  readonly url: string
  readonly lastEventId?: string
  readonly status: number
  /** Arrival of each event, wall clock. */
  readonly events: readonly (LabEvent & { readonly wallMs: number })[]
  /** Closed by the replica, broken off, left by the client, or still open. */
  readonly end: 'closed' | 'broken' | 'left' | 'open'
}

/** A fault or a start of a replica. */
export interface Struck extends Timed {
  readonly type: 'strike'
  /** A signal; or the replica was started or found ready. */
  readonly what: NodeJS.Signals | 'start' | 'ready'
  readonly replica: string
  readonly pid: number
}

export type Entry = Invoked | Answered | Transcript | Struck

/** A request with its answer. A missing answer is unknown. */
export interface Call extends Omit<Invoked, 'type' | 'wallMs' | 'atMs'> {
  readonly outcome: Answered['type']
  readonly status?: number | undefined
  readonly value?: Value | undefined
  readonly invokedMs: number
  /** Infinite if no answer came. */
  readonly answeredMs: number
}

export function callsOf(history: readonly Entry[]): readonly Call[] {
  const answers = new Map<number, Answered>()
  for (const entry of history) {
    if (entry.type === 'ok' || entry.type === 'fail' || entry.type === 'unknown') answers.set(entry.id, entry)
  }
  return history
    .filter(entry => entry.type === 'invoke')
    .map(({ type: _, atMs: __, wallMs, ...invoked }) => {
      const answer = answers.get(invoked.id)
      const { type: outcome = 'unknown', status, value, wallMs: answeredMs = Number.POSITIVE_INFINITY } = answer ?? {}
      return { ...invoked, outcome, status, value, invokedMs: wallMs, answeredMs }
    })
}

export const transcriptsOf = (history: readonly Entry[]): readonly Transcript[] =>
  history.filter(entry => entry.type === 'stream')

export const strikesOf = (history: readonly Entry[]): readonly Struck[] =>
  history.filter(entry => entry.type === 'strike')
