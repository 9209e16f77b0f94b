/** Writes of a turn to Redis, which may be silent: the Kubernetes part waits hardly for them. */
import type { Clock } from '../base/clock.ts'
import { Deadline, unlessAborted } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import { effectName } from './failure.ts'
import type { TurnLimit } from './limit.ts'
import type { Memory } from './memory.ts'
import type { Effect } from './types.ts'

/** Redis counts as silent after this time. */
const effectMs = 1_000

export class Due {
  /** The names of effects, and of the lock, that wait for Redis. */
  readonly names: Set<string>
  readonly #memory: Memory
  readonly #limit: TurnLimit
  readonly #clock: Clock

  constructor(memory: Memory, limit: TurnLimit, clock: Clock) {
    this.names = new Set(clock.monotonicMs() < memory.dueAtMs ? memory.due : [])
    this.#memory = memory
    this.#limit = limit
    this.#clock = clock
  }

  /** Whether it is to be written now. */
  has({ name, mark }: Effect): boolean {
    const { effects, failure } = this.#memory
    if (failure?.holds(effectName({ name, mark }), this.#clock.monotonicMs())) return false
    return effects.get(name) !== mark && !this.names.has(name)
  }

  /**
   * Writes an effect, if that is due. After the first silence of Redis all others wait too.
   * @param isSilent whether Redis is known to be silent
   * @throws {TurnOver} and what else an effect throws, such as `Fenced`
   */
  async apply(effect: Effect, isSilent: boolean): Promise<void> {
    if (!this.has(effect)) return
    const isWritten = !isSilent && this.names.size === 0 && (await this.#isWritten(effect))
    if (!isWritten) return void this.names.add(effect.name)
    this.#memory.effects.set(effect.name, effect.mark)
    this.#memory.effectAtMs = this.#clock.monotonicMs()
  }

  /** False if Redis does not answer. */
  async #isWritten({ apply }: Effect): Promise<boolean> {
    this.#limit.check()
    const deadline = new Deadline(this.#clock, effectMs, this.#limit.signal)
    try {
      await unlessAborted(apply(deadline.signal), deadline.signal)
      return true
    } catch (error) {
      this.#limit.check()
      if (deadline.signal.aborted || error instanceof RetryLater) return false
      throw error
    } finally {
      deadline.release()
    }
  }
}
