/**
 * Those who were let in by a token, and have something open. Nobody rings when a token ends, or when its person leaves a group at
 * the identity source. So that is asked again, in the background.
 */
import type { Clock } from '../../base/clock.ts'
import { isUnavailable } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Person } from './tables.ts'

/** Between two questions about one token. */
export const recheckMs = 60_000
/** How long the last word of the identity source holds while it does not answer. */
export const wordMs = 300_000
/** Questions at once. */
const mostAsked = 8

/** A token that let somebody in. */
export interface Bearer {
  /** A hash of the token: what is open by one token is asked about together. */
  readonly key: string
  /** Before the question was sent whose answer let in, by the monotonic clock. */
  readonly atMs: number
  /** Whose it is by now; undefined where it lets nobody in any more. Rejects while the identity source does not answer. */
  ask(): Promise<Person | undefined>
}

/** One token that has something open. */
export interface Asked {
  bearer: Bearer
  person: Person
  /** Before the last question was sent that was answered. */
  lookedMs: number
  isAsked: boolean
}

export interface BearerChecksOptions<T> {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  /** Called when there is a newer person. */
  readonly onPerson: (asked: T) => void
  /** Called when the token lets nobody in any more. */
  readonly onEnded: (asked: T) => void
}

export class BearerChecks<T extends Asked> {
  readonly #options: BearerChecksOptions<T>
  #asked = 0

  constructor(options: BearerChecksOptions<T>) {
    this.#options = options
  }

  /** Begins to ask about those whose last answer is old, the oldest first. */
  look(all: readonly T[]): void {
    const beforeMs = this.#options.clock.monotonicMs() - recheckMs
    const due = all.filter(({ lookedMs, isAsked }) => !isAsked && lookedMs <= beforeMs)
    due.sort((a, b) => a.lookedMs - b.lookedMs)
    for (const borne of due.slice(0, mostAsked - this.#asked)) void this.#ask(borne)
  }

  async #ask(borne: T): Promise<void> {
    const { clock, log, onPerson, onEnded } = this.#options
    const startMs = clock.monotonicMs()
    borne.isAsked = true
    this.#asked += 1
    try {
      const person = await borne.bearer.ask()
      if (person?.user !== borne.person.user) onEnded(borne)
      // Somebody may have come in by a later answer meanwhile.
      else if (startMs >= borne.lookedMs) {
        Object.assign(borne, { person, lookedMs: startMs })
        onPerson(borne)
      }
    } catch (error) {
      // Whoever asks the identity source reports its trouble.
      if (!isUnavailable(error)) log.error({ err: error }, 'a token that has something open could not be looked at')
    } finally {
      borne.isAsked = false
      this.#asked -= 1
    }
  }
}
