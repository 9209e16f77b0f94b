/**
 * Compares Redis' clock with this replica's monotonic one, by the answers of Redis. When Redis' clock was stepped, nothing that
 * it measured counts any more.
 */
import type { Clock } from '../base/clock.ts'

export interface ClocksOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Called when Redis' clock was stepped by more than 5 s since its last answer. */
  readonly onJump: (byMs: number) => Promise<void>
}

const toleratedMs = 5000

interface Seen {
  readonly nowMs: number
  /** Redis read its clock between these two moments. */
  readonly afterMs: number
  readonly beforeMs: number
}

export class Clocks {
  readonly #options: ClocksOptions
  #last: Seen | undefined

  constructor(options: ClocksOptions) {
    this.#options = options
  }

  /** Asks Redis, and compares its time with the last one. @throws as `ask` */
  async around<T extends { readonly nowMs: number }>(ask: () => Promise<T>): Promise<T> {
    const { clock, onJump } = this.#options
    const afterMs = clock.monotonicMs()
    const answer = await ask()
    const seen = { nowMs: answer.nowMs, afterMs, beforeMs: clock.monotonicMs() }
    const byMs = this.#last ? jumpBetween(this.#last, seen) : 0
    // Until it is written, each answer shows the jump.
    if (byMs !== 0) await onJump(byMs)
    this.#last = seen
    return answer
  }
}

/** By how much Redis' clock moved beyond the time that passed, at least; 0 if that is tolerated. */
function jumpBetween(first: Seen, second: Seen): number {
  const movedMs = second.nowMs - first.nowMs
  const [leastMs, mostMs] = [second.afterMs - first.beforeMs, second.beforeMs - first.afterMs]
  if (movedMs > mostMs + toleratedMs) return movedMs - mostMs
  return movedMs < leastMs - toleratedMs ? movedMs - leastMs : 0
}
