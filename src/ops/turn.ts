/**
 * Takes slots for an operation's acts, and counts the attempts of each. An act that did not return may have killed its
 * owner. It is repeated alone, so that it cannot kill other operations, and given up after a few attempts.
 */
import type { Slots } from '../base/slots.ts'
import type { NewEvent, OperationFields, OperationRecord } from '../store/records.ts'
import type { Step } from './steps.ts'

/** Writes fields of the operation's record. */
interface Writer {
  write(events: readonly NewEvent[], fields: OperationFields): Promise<void>
}

export class Turn {
  readonly #room: Slots
  readonly #journal: Writer
  #places: number
  #attempts: number
  /** The record's value: if true, the next claim counts an attempt. */
  #acting: boolean

  /** `places`: slots already taken for this run. */
  constructor(
    room: Slots,
    journal: Writer,
    { attempts, acting }: Pick<OperationRecord, 'attempts' | 'acting'>,
    places: number,
  ) {
    this.#room = room
    this.#journal = journal
    this.#places = places
    this.#attempts = attempts
    this.#acting = acting
  }

  /** Attempts of the current act. Earlier ones are presumed to have killed their owner. */
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

  /** The fields that the record gets when the previous step is done. */
  next({ kind }: Pick<Step, 'kind'>): Required<Pick<OperationFields, 'acting' | 'attempts'>> {
    this.#acting = kind === 'act'
    // The previous act has returned. If later acts ran alone too, the operations of a dead replica would wait for each other.
    this.#attempts = this.#acting ? 1 : 0
    return { acting: this.#acting, attempts: this.#attempts }
  }

  /** Frees the slots. */
  end(): void {
    this.#room.leave(this.#places)
    this.#places = 0
  }

  async #enter(need: number, signal: AbortSignal): Promise<void> {
    await this.#room.enter(need, signal)
    // Set at once, so that `end` frees them after a failure.
    this.#places = need
  }

  /**
   * While an act waits to run alone it has not begun. If its owner dies meanwhile, by another operation's act, that is no
   * attempt of this one.
   */
  async #enterAlone(signal: AbortSignal): Promise<void> {
    if (this.#room.free < this.#room.places) await this.#mark(false)
    try {
      await this.#enter(this.#room.places, signal)
    } finally {
      // Also on hand-over: the claim counted an attempt, and the release subtracts it.
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
