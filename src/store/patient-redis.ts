/** The client of Redis, with limits for answers that a halt of this process does not use up. Its own ring before it reads. */
import { type Command, Redis, type RedisOptions } from 'ioredis'
import { afterReading } from '../base/awake.ts'
import type { Clock } from '../base/clock.ts'

export interface Patience {
  /** A command that has no answer after this time, in ms, is rejected. Its connection stays. Default: it waits for ever. */
  readonly answerMs?: number
  /** A connection that owes answers, and gives none for this time, in ms, is closed. Default: it stays. */
  readonly silenceMs?: number
}

/** Without what the type of the class fixes. */
export type PatientOptions = Omit<RedisOptions, 'replyMapping'>

export class PatientRedis extends Redis {
  readonly #clock: Clock
  readonly #patience: Patience
  /** Monotonic: anything was received, or the first command was sent while no answer was due. */
  #heardMs = 0
  #cancelWatch: (() => void) | undefined

  constructor(address: string, options: PatientOptions, clock: Clock, patience: Patience) {
    super(address, options)
    this.#clock = clock
    this.#patience = patience
    this.on('connect', () => this.stream.on('data', () => this.#hear()))
    this.on('close', () => {
      this.#cancelWatch?.()
      this.#cancelWatch = undefined
    })
  }

  /** Every command passes here, also those of pipelines and scripts. */
  override sendCommand(command: Command, stream?: Parameters<Redis['sendCommand']>[1]): unknown {
    if (this.commandQueue.length === 0) this.#hear()
    const answer = super.sendCommand(command, stream)
    if (!command.isSettled) this.#await(command)
    return answer
  }

  #hear(): void {
    this.#heardMs = this.#clock.monotonicMs()
  }

  #await(command: Command): void {
    const { answerMs } = this.#patience
    if (answerMs !== undefined) this.#limit(command, answerMs)
    if (!this.#cancelWatch) this.#watch()
  }

  #limit(command: Command, answerMs: number): void {
    const { resolve, reject } = command
    const cancel = afterReading(this.#clock, answerMs, () => reject(new Error('Command timed out')))
    // A `then` would handle the promise: a rejection that nobody else handles would go unnoticed.
    command.resolve = result => {
      cancel()
      return resolve(result)
    }
    command.reject = error => {
      cancel()
      reject(error)
    }
  }

  /** One timer for all commands, which looks whether anything was received meanwhile. */
  #watch(): void {
    const { silenceMs } = this.#patience
    if (silenceMs === undefined) return
    const heardMs = this.#heardMs
    const leftMs = Math.max(0, heardMs + silenceMs - this.#clock.monotonicMs())
    this.#cancelWatch = afterReading(this.#clock, leftMs, () => {
      this.#cancelWatch = undefined
      // Also commands that were given up are due.
      if (this.commandQueue.length === 0) return
      if (this.#heardMs > heardMs) this.#watch()
      else this.stream.destroy(new Error(`Socket timeout: nothing was received for ${silenceMs} ms`))
    })
  }
}
