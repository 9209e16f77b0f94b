/**
 * When an operation's acts may have their turn, and how often one was begun. An act that does not return may have taken
 * its owner with it: begun again it is done alone, so that it takes no other down, and after a few attempts given up.
 */
import type { Slots } from '../base/slots.ts'
import type { LabRecord, RecordFields } from '../store/records.ts'
import type { Journal } from './journal.ts'
import type { Step } from './steps.ts'

export class Turn {
  readonly #room: Slots
  readonly #journal: Journal
  #places: number
  #attempts: number
  /** As the record has it: whoever claims next counts an attempt. */
  #acting: boolean

  /** `places`: in the room, taken for it already. */
  constructor(
    room: Slots,
    journal: Journal,
    { attempts, acting }: Pick<LabRecord, 'attempts' | 'acting'>,
    places: number,
  ) {
    this.#room = room
    this.#journal = journal
    this.#places = places
    this.#attempts = attempts
    this.#acting = acting
  }

  /** Of the act at hand: those before this one killed their owner, as far as anyone can tell. */
  get attempts(): number {
    return this.#attempts
  }

  /** Waits until a step may begin. Rejects with the signal's reason. */
  async take(kind: Step['kind'], signal: AbortSignal): Promise<void> {
    const suspect = this.#attempts > 1
    const need = kind === 'wait' ? 0 : suspect ? this.#room.places : 1
    if (need !== this.#places) {
      this.end()
      if (suspect && need > 0) await this.#enterAlone(signal)
      else if (need > 0) await this.#enter(need, signal)
    }
    if (kind === 'act') await this.#mark(true)
  }

  /** What the record is to hold once the step before this one is done. */
  next(step: Step | undefined): Required<Pick<RecordFields, 'acting' | 'attempts'>> {
    this.#acting = step?.kind === 'act'
    // The act before has returned. Were the next ones done alone too, all that a dead replica left would wait for each other.
    this.#attempts = this.#acting ? 1 : 0
    return { acting: this.#acting, attempts: this.#attempts }
  }

  /** Leaves the room. */
  end(): void {
    this.#room.leave(this.#places)
    this.#places = 0
  }

  async #enter(need: number, signal: AbortSignal): Promise<void> {
    await this.#room.enter(need, signal)
    // At once: what fails after this must find them, to give them back.
    this.#places = need
  }

  /**
   * An act that waits for its turn has not begun, and cannot have killed anyone: whoever dies meanwhile, by another's act,
   * is no attempt of this one.
   */
  async #enterAlone(signal: AbortSignal): Promise<void> {
    if (this.#room.free < this.#room.places) await this.#mark(false)
    try {
      await this.#enter(this.#room.places, signal)
    } finally {
      // Also for who hands it over: its claim was counted, and letting go takes that back.
      await this.#mark(true)
    }
  }

  async #mark(acting: boolean): Promise<void> {
    if (this.#acting === acting) return
    if (acting) this.#attempts = Math.max(1, this.#attempts)
    await this.#journal.write([], { acting, attempts: this.#attempts })
    this.#acting = acting
  }
}
