/** The modes of an engine and their transitions: the table at the head of engine.ts, as code. Pure. */

export type Mode = 'idle' | 'crowded' | 'heard' | 'looking' | 'closed'

/** `missed`: a look skipped an operation because no slot was free. */
export type ModeEvent = 'woken' | 'freed' | 'begun' | 'answered' | 'missed' | 'ended' | 'drained'

export class Modes {
  #mode: Mode = 'heard'
  /** The last answered look skipped an operation. Stays true until the next answer, so also while that is awaited. */
  #missed = false

  get mode(): Mode {
    return this.#mode
  }

  /** @returns the mode after the event */
  on(event: ModeEvent): Mode {
    if (event === 'answered' || event === 'missed') this.#missed = event === 'missed'
    if (this.#mode !== 'closed') this.#mode = this.#next(event)
    return this.#mode
  }

  #next(event: ModeEvent): Mode {
    if (event === 'woken' || (event === 'freed' && this.#missed)) return 'heard'
    if (event === 'begun') return 'looking'
    // A ring during a look leads to another look.
    if (event === 'ended' && this.#mode === 'looking') return this.#missed ? 'crowded' : 'idle'
    return event === 'drained' ? 'closed' : this.#mode
  }
}
