/** What is open asks a guard before each byte. A halt of this process must not carry bytes for somebody who was revoked meanwhile. */
import { Transform, type TransformCallback } from 'node:stream'

/**
 * - `ended`: the login or the session was revoked, or has ended
 * - `forbidden`: not a member any more, or the scope has changed
 * - `gone`: the app was deleted
 * - `stopped`: the app was stopped
 * - `unavailable`: Redis has not answered for a minute
 */
export type CutReason = 'ended' | 'forbidden' | 'gone' | 'stopped' | 'unavailable'

export interface Guard {
  /** Neither cut nor removed. */
  isOpen(): boolean
  /** Whether a byte may pass now. */
  mayPass(): boolean
  /** Looks at all again. Resolves when that has ended; what may no longer was cut by then. */
  look(): Promise<void>
  /** It has ended by itself. */
  remove(): void
}

/** A look that takes too long is followed by another one. */
const mostLooks = 3

/** One way of what is open: bytes wait here until they may pass. After a cut none does. */
export class Gate extends Transform {
  readonly #guard: Omit<Guard, 'remove'>

  constructor(guard: Omit<Guard, 'remove'>) {
    super()
    this.#guard = guard
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    if (this.#guard.mayPass()) done(null, chunk)
    else void this.#wait(chunk, done)
  }

  async #wait(chunk: Buffer, done: TransformCallback): Promise<void> {
    for (let look = 1; look <= mostLooks && this.#guard.isOpen() && !this.destroyed; look++) {
      await this.#guard.look()
      if (this.#guard.mayPass()) return done(null, chunk)
    }
    done(new Error('what was open was cut'))
  }
}
