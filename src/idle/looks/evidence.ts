/** What sources show of the activity of a workload, and what one look at it has shown. Pure. */
import type { SourceName } from '../../config/idle.ts'

/** What one look at a workload has shown. */
export type Look = Seen | Denied | Unreachable

export interface Seen {
  readonly kind: 'seen'
  /** Whether it works right now. */
  readonly busy: boolean
  /** Milliseconds since the newest activity that the sources show; undefined when they show none. */
  readonly ageMs: number | undefined
  /** The source of the newest activity. */
  readonly source: SourceName | undefined
  /** Values of counters, by keys that name them, to compare with at the next look. */
  readonly readings?: Readonly<Record<string, number>>
}

/** The workload refuses to answer us: 401 or 403. */
export interface Denied {
  readonly kind: 'denied'
  /** For operators: our own words, without text of the workload. */
  readonly words: string
}

/** Nothing is known about the workload: no answer, or no usable one. */
export interface Unreachable {
  readonly kind: 'unreachable'
  /** As in `Denied`. */
  readonly words: string
}

/** What the answer of one source shows. */
export interface Evidence {
  readonly busy: boolean
  /** Milliseconds between the newest activity and the answer; undefined when it shows none. */
  readonly ageMs: number | undefined
}

/** What a counter shows, and its value for the next look. */
export interface CounterEvidence extends Evidence {
  readonly reading?: number
}

/** Thrown for an answer that shows nothing reliable. The message has our own words, without text of the answer. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

/** Thrown when a look ends without evidence. The message has our own words, without text of the workload. */
export class FailedLook extends Error {
  override readonly name = 'FailedLook'
  readonly kind: 'denied' | 'unreachable'

  constructor(kind: 'denied' | 'unreachable', words: string) {
    super(words)
    this.kind = kind
  }
}

export const nothing: Evidence = { busy: false, ageMs: undefined }
export const busyNow: Evidence = { busy: true, ageMs: 0 }

/** The evidence of a counter: growth since the previous reading. A first reading and a smaller one show nothing. */
export function growthOf(reading: number, previous: number | undefined): CounterEvidence {
  if (!Number.isFinite(reading) || reading < 0) throw new MalformedAnswer('its counter is not a number from 0 on')
  return previous !== undefined && reading > previous ? { busy: false, ageMs: 0, reading } : { ...nothing, reading }
}
