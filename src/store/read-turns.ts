/**
 * A bound on readings at once. Leases are extended on the same connection, and an extension waits behind all replies that
 * were asked for before it.
 */
import { isUnavailable } from '../base/errors.ts'
import { Slots } from '../base/slots.ts'

export class ReadTurns {
  readonly #slots: Slots
  /** The number of readings without an answer. */
  #silences = 0
  /** The last of their errors; undefined if a reading was answered since. */
  #silence: unknown

  constructor(atOnce: number) {
    this.#slots = new Slots(atOnce)
  }

  /**
   * Reads when it is its turn. If there was no answer to a reading meanwhile, and none to a later one, it fails in the same
   * way and asks nothing: while Redis is silent, a long queue would otherwise take its time-out once for each turn.
   * @throws the errors of the readings; the signal's reason when it is aborted while this one waits
   */
  async run<T>(read: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const silences = this.#silences
    return this.#slots.run(async () => {
      if (this.#silence !== undefined && this.#silences !== silences) throw this.#silence
      try {
        const answer = await read()
        this.#silence = undefined
        return answer
      } catch (error) {
        if (isUnavailable(error)) {
          this.#silences += 1
          this.#silence = error
        }
        throw error
      }
    }, signal)
  }
}
