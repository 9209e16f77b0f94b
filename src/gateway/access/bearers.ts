/**
 * Those who were let in by a token, and have something open. Nobody rings when a token ends, or when its person leaves a group at
 * the identity source. So that is asked again, in the background.
 */
import type { Clock } from '../../base/clock.ts'
import { ApiError, isUnavailable } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Person } from '../../store/apps/members.ts'
import { wordMs } from './words.ts'

/** Between two questions about one token. */
export const recheckMs = 60_000
/** After that a word is late: until a question was answered, or its time is over. A sweep and the question itself take some time. */
const lateMs = 15_000
/** Between two questions about one token while there is no answer. */
const againMs = 10_000
/** How long the source counts as away after a question that it did not answer; the next one has failed by then. */
const awayMs = 30_000
/** Questions at once. */
const mostAsked = 8

/** A token that let somebody in. */
export interface Bearer {
  /** A hash of the token: what is open by one token is asked about together. */
  readonly key: string
  /** Before the question was sent whose answer let in, by the monotonic clock. */
  readonly atMs: number
  /** The token's person by now; undefined where it lets nobody in any more. Rejects while the identity source does not answer. */
  ask(): Promise<Person | undefined>
}

/** One token that has something open. */
export interface Asked {
  bearer: Bearer
  person: Person
  /** Before the last question was sent that was answered. */
  lookedMs: number
  /** Before the last question was sent. */
  askedMs: number
  /** Until the question that was sent has ended. */
  asking: Promise<void> | undefined
  readonly open: { readonly size: number }
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
  /** The last one is asked about next. */
  #due: T[] = []
  /** Before the last question was sent that the source did not answer. */
  #failedMs = Number.NEGATIVE_INFINITY

  constructor(options: BearerChecksOptions<T>) {
    this.#options = options
  }

  /** Begins to ask about those whose last answer is old. Those come first that were not asked about for longest. */
  look(all: readonly T[]): void {
    this.#due = all.filter(borne => this.#isDue(borne)).sort((a, b) => b.askedMs - a.askedMs)
    this.#askOn()
  }

  /** Whether bytes may pass by the last word. A late one is none, unless the source does not answer: this process may have been halted. */
  holds({ lookedMs }: T): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    const ageMs = nowMs - lookedMs
    return ageMs <= recheckMs + lateMs || (nowMs - this.#failedMs <= awayMs && ageMs <= wordMs)
  }

  #isDue({ lookedMs, askedMs, asking, open }: T): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    return open.size > 0 && !asking && nowMs - lookedMs >= recheckMs && nowMs - askedMs >= againMs
  }

  /** The next one at once, or many would wait for sweeps. */
  #askOn(): void {
    while (this.#asked < mostAsked && this.#due.length > 0) {
      const next = this.#due.pop()!
      if (this.#isDue(next)) this.#begin(next)
    }
  }

  #begin(borne: T): void {
    this.#asked += 1
    borne.asking = this.#ask(borne).finally(() => {
      borne.asking = undefined
      this.#asked -= 1
      this.#askOn()
    })
  }

  async #ask(borne: T): Promise<void> {
    const { clock, onPerson, onEnded } = this.#options
    const startMs = clock.monotonicMs()
    borne.askedMs = startMs
    try {
      const person = await borne.bearer.ask()
      if (person?.user !== borne.person.user) onEnded(borne)
      // Somebody may have come in by a later answer meanwhile.
      else if (startMs >= borne.lookedMs) {
        Object.assign(borne, { person, lookedMs: startMs })
        onPerson(borne)
      }
    } catch (error) {
      this.#failed(error, startMs)
    }
  }

  #failed(error: unknown, startMs: number): void {
    // The code that asks the identity source reports its trouble.
    if (isUnavailable(error)) this.#failedMs = Math.max(this.#failedMs, startMs)
    else if (!isBusy(error)) {
      this.#options.log.error({ err: error }, 'a token that has something open could not be looked at')
    }
  }
}

/** The user asks too much at once. He can bring that about, so it says nothing of the source: his late words hold no longer by it. */
const isBusy = (error: unknown): boolean => error instanceof ApiError && error.status === 429
