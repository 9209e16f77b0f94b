/**
 * The writes that failed a moment ago. They are not sent again at each event: a refusal is answered by our status, which is
 * an event too, and anybody can make others. Pure.
 */
import { signature } from './look.ts'
import { isRevocation } from './plan.ts'
import type { Act, Effect } from './types.ts'

/** An urgent event tries a revocation again after this time. */
const revocationMs = 1_000

/** The name of the status among what failed. */
export const statusName = 'status'

export const effectName = ({ name, mark }: Pick<Effect, 'name' | 'mark'>): string => `effect ${name} ${mark}`

export interface FailureOptions {
  /** `signature` of acts, `effectName` of effects, or `statusName`. */
  readonly names: ReadonlySet<string>
  /** The words of the status about it; undefined: the status does not mention it. */
  readonly words: string | undefined
  readonly nowMs: number
}

/** A failure of one key. Times are of the monotonic clock. */
export class Failure {
  readonly words: string | undefined
  readonly #names: ReadonlySet<string>
  readonly #atMs: number
  /** Until then it is not tried again; known when the turn is over. */
  untilMs = Number.POSITIVE_INFINITY
  /** The status has been written with these words, so it is not written again although another replica has other words. */
  isTold = false

  constructor({ names, words, nowMs }: FailureOptions) {
    this.words = words
    this.#names = names
    this.#atMs = nowMs
  }

  holds(name: string, nowMs: number): boolean {
    return nowMs < this.untilMs && this.#names.has(name)
  }

  /** Whether an act for this wish waits. */
  holdsAct(act: Act, wish: string, nowMs: number): boolean {
    if (isRevocation(act) && nowMs >= this.#atMs + revocationMs) return false
    return this.holds(signature(act, wish), nowMs)
  }
}
