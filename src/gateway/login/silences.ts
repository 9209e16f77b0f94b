/** Questions that led to nothing: of the source as a whole, and about single logins. After each one it is quiet for a moment. */
import { backoffMs } from '../../base/backoff.ts'
import type { Clock } from '../../base/clock.ts'
import { isUnavailable } from '../../base/errors.ts'
import { Unclear } from '../../identity/source.ts'
import { Kept as Recent } from '../access/kept.ts'

/** One after another. */
interface Silence {
  readonly failures: number
  readonly pausedUntilMs: number
}

const pause = { baseMs: 1_000, capMs: 10_000 }
const calm: Silence = { failures: 0, pausedUntilMs: Number.NEGATIVE_INFINITY }

export class Silences {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #outage = calm
  /** By login. Somebody must not be able to stop the questions about others. */
  readonly #unclear: Recent<Silence>

  constructor(clock: Pick<Clock, 'monotonicMs'>, mostKnown: number) {
    this.#clock = clock
    this.#unclear = new Recent(mostKnown)
  }

  /** Whether the last question led to nothing: at all, or about this login. */
  isSilent(hash: string): boolean {
    return this.#outage.failures > 0 || this.#unclear.get(hash) !== undefined
  }

  /** Whether nothing is asked about this login for a moment. */
  isPaused(hash: string): boolean {
    return (
      this.#clock.monotonicMs() < Math.max(this.#outage.pausedUntilMs, (this.#unclear.get(hash) ?? calm).pausedUntilMs)
    )
  }

  answered(hash: string): void {
    this.#outage = calm
    this.#unclear.delete(hash)
  }

  /** @param error what the source gave in place of an answer */
  failed(hash: string, error: unknown): void {
    const isOutage = isUnavailable(error) && !(error instanceof Unclear)
    if (isOutage) this.#outage = this.#after(this.#outage)
    else this.#unclear.set(hash, this.#after(this.#unclear.get(hash) ?? calm))
  }

  #after({ failures }: Silence): Silence {
    return { failures: failures + 1, pausedUntilMs: this.#clock.monotonicMs() + backoffMs(failures + 1, pause) }
  }
}
