/**
 * A bound on readings at once. Leases are extended on the same connection, and an extension waits behind all replies that
 * were asked for before it.
 */
import { Slots } from '../base/slots.ts'

export class ReadTurns {
  readonly #slots: Slots
  #failures = 0
  #failure: unknown

  constructor(atOnce: number) {
    this.#slots = new Slots(atOnce)
  }

  /**
   * Reads when it is its turn. If a reading before it fails meanwhile, it fails in the same way and asks nothing: while
   * Redis does not answer, a long queue would otherwise take its time-out once for each turn.
   * @throws the errors of the readings; the signal's reason when it is aborted while this one waits
   */
  async run<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const failures = this.#failures
    return this.#slots.run(async () => {
      if (this.#failures !== failures) throw this.#failure
      try {
        return await read()
      } catch (error) {
        this.#failures += 1
        this.#failure = error
        throw error
      }
    }, signal)
  }
}
