/** What was asked of the cloud, in the order of arrival: the truth about effects, as the audit log is for labs. */
import type { Clock } from '../../src/base/clock.ts'
import type { Call } from './call.ts'

export interface Entry extends Pick<Call, 'action' | 'agent' | 'token' | 'type' | 'subnet'> {
  /** Milliseconds of the front's clock, which never steps. */
  readonly atMs: number
  /** When it was answered; undefined while it is open. */
  endMs: number | undefined
  /** Machines and interfaces that it named, or made. */
  ids: readonly string[]
  /** `ok`, EC2's code, or what became of the answer: `cut`, `silent`, `late`, `lie`. Empty while it is open. */
  outcome: string
  /** Whether EC2's state has changed by it, or was read. */
  carriedOut: boolean
}

export class Journal {
  readonly #clock: Clock
  readonly entries: Entry[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  begin({ action, agent, token, type, subnet, ids }: Call): Entry {
    const own = { action, agent, token, type, subnet, ids }
    const entry = { ...own, atMs: this.#clock.monotonicMs(), endMs: undefined, outcome: '', carriedOut: false }
    this.entries.push(entry)
    return entry
  }

  end(entry: Entry, outcome: string): void {
    entry.endMs = this.#clock.monotonicMs()
    entry.outcome = outcome
  }

  of(action: string): readonly Entry[] {
    return this.entries.filter(entry => entry.action === action)
  }
}
