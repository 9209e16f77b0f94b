/** An open connection asks a guard before each byte: after a halt of this process none must pass for somebody revoked meanwhile. */

/**
 * - `ended`: the login or the session was revoked, or has ended
 * - `forbidden`: not a member any more, or the scope has changed
 * - `gone`: the app was deleted
 * - `stopped`: the app was stopped
 * - `unavailable`: Redis has not answered for a minute, or the identity provider for five
 */
export type CutReason = 'ended' | 'forbidden' | 'gone' | 'stopped' | 'unavailable'

export interface Guard {
  /** Neither cut nor removed. */
  isOpen(): boolean
  /** Whether a byte may pass now. */
  mayPass(): boolean
  /** Looks at all again. Resolves when that has ended; connections without a right were cut by then. */
  look(): Promise<void>
  /** It has ended by itself. */
  remove(): void
}

/** Watches over open connections. */
export interface Guarding<T> {
  mayPass(open: T): boolean
  look(open: T): Promise<void>
  remove(open: T): void
}

/** The guard of one thing that is open. */
export class GuardOf<T extends { readonly isOpen: boolean }> implements Guard {
  readonly #open: T
  readonly #guarding: Guarding<T>

  constructor(open: T, guarding: Guarding<T>) {
    this.#open = open
    this.#guarding = guarding
  }

  isOpen(): boolean {
    return this.#open.isOpen
  }

  mayPass(): boolean {
    return this.#guarding.mayPass(this.#open)
  }

  look(): Promise<void> {
    return this.#guarding.look(this.#open)
  }

  remove(): void {
    this.#guarding.remove(this.#open)
  }
}
