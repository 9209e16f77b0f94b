/** Caches credentials that may change elsewhere: read on demand, and at most a minute old. */
import type { Clock } from '../../base/clock.ts'
import { RegistryError } from './http.ts'

/** The longest time until a rotated secret is used. */
const freshMs = 60_000

/** Reads the text of credentials; undefined when there are none. */
export type ReadCredentials = () => Promise<string | undefined>

export class CredentialCache {
  readonly #read: ReadCredentials
  readonly #clock: Clock
  #known: { readonly text: string | undefined; readonly atMs: number } | undefined
  #reading: Promise<string | undefined> | undefined

  constructor(read: ReadCredentials, clock: Clock) {
    this.#read = read
    this.#clock = clock
  }

  /** @throws {RegistryError} when they cannot be read, and never could */
  async current(): Promise<string | undefined> {
    const known = this.#known
    return known && this.#clock.monotonicMs() - known.atMs < freshMs ? known.text : this.renew()
  }

  /** As `current`, but reads now, after a refusal. Concurrent callers share the reading. */
  renew(): Promise<string | undefined> {
    this.#reading ??= this.#ask().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #ask(): Promise<string | undefined> {
    const atMs = this.#clock.monotonicMs()
    try {
      this.#known = { text: await this.#read(), atMs }
    } catch (error) {
      if (!this.#known) throw new RegistryError('the credentials of the registry cannot be read', { cause: error })
      // The former credentials may still be valid.
      this.#known = { text: this.#known.text, atMs }
    }
    return this.#known.text
  }
}
