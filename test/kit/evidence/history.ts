/**
 * What a fleet was asked, what it answered, and what befell it, in the manner of Jepsen: every request is invoked, then
 * ok, failed (a definite refusal) or unknown (no answer, or one that says nothing about what was done).
 */
import type { LabEvent } from '../../../src/base/domain.ts'

export type Question = 'create' | 'delete' | 'status' | 'user-status' | 'labs' | 'events' | 'other'

interface Timed {
  /** Wall clock, as logs and the audit log have it. */
  readonly wallMs: number
  /** Monotonic, of the process that runs the test. */
  readonly atMs: number
}

export interface Invoked extends Timed {
  readonly type: 'invoke'
  readonly id: number
  /** Who asked. */
  readonly by: string
  readonly what: Question
  /** Whose lab it is about; absent for all. */
  readonly user?: string
  readonly url: string
  /** Stands for the `Idempotency-Key`. */
  readonly key?: string
  /** The operation whose `complete` was just seen, of which every replica must know. */
  readonly after?: number
}

export interface Answered extends Timed {
  readonly type: 'ok' | 'fail' | 'unknown'
  readonly id: number
  /** Absent where no answer came. */
  readonly status?: number
  readonly value?: Value
}

/** What matters of a body. */
export interface Value {
  readonly lab?: LabValue
  /** Of `labs`: the names. */
  readonly names?: readonly string[]
}

export interface LabValue {
  readonly status: string
  readonly present: boolean
  readonly hasUrl: boolean
  /** Of its events. */
  readonly op?: number | undefined
  /** How many events. */
  readonly seq: number
}

/** One connection to an event stream, from its opening to its end. */
export interface Transcript extends Timed {
  readonly type: 'stream'
  readonly user: string
  readonly url: string
  readonly lastEventId?: string
  readonly status: number
  /** When each came, by the wall clock. */
  readonly events: readonly (LabEvent & { readonly wallMs: number })[]
  /** Ended by the replica, broken off, left by the client, or open still. */
  readonly end: 'closed' | 'broken' | 'left' | 'open'
}

/** Something done to a replica. */
export interface Struck extends Timed {
  readonly type: 'strike'
  /** A signal, or that it was started or found ready. */
  readonly what: NodeJS.Signals | 'start' | 'ready'
  readonly replica: string
  readonly pid: number
}

export type Entry = Invoked | Answered | Transcript | Struck

/** A request with its answer. One that never came is unknown. */
export interface Call extends Omit<Invoked, 'type' | 'wallMs' | 'atMs'> {
  readonly outcome: Answered['type']
  readonly status?: number | undefined
  readonly value?: Value | undefined
  readonly invokedMs: number
  /** Infinite where no answer came. */
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
