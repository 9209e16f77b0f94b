/** One connection to PostgreSQL, which is made when it is needed, kept, and given up after any trouble. */
import type { PostgresPlace } from '../places.ts'
import { Session } from './session.ts'

export class KeptSession {
  readonly #place: PostgresPlace
  readonly #timeoutMs: number
  #session: Session | undefined

  constructor(place: PostgresPlace, timeoutMs: number) {
    this.#place = place
    this.#timeoutMs = timeoutMs
  }

  /** @throws {TableTrouble}; the connection is then given up */
  async within<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    const cut = () => this.rest()
    signal.addEventListener('abort', cut)
    try {
      this.#session ??= await Session.open(this.#place, this.#timeoutMs, signal)
      return await work(this.#session)
    } catch (error) {
      this.rest()
      // A drain must not wait for a statement, nor count it as a failure.
      signal.throwIfAborted()
      throw error
    } finally {
      signal.removeEventListener('abort', cut)
    }
  }

  /** Ends the connection. */
  rest(): void {
    this.#session?.close()
    this.#session = undefined
  }
}
