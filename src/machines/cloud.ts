/**
 * A replica's way to the cloud: one listing serves all of its keepers, and calls of all replicas keep a common distance. A
 * listing is made only while somebody waits for one.
 */
import type { Clock } from '../base/clock.ts'
import { unlessAborted } from '../base/deadline.ts'
import { RetryLater } from '../base/errors.ts'
import type { CloudCall, Driver, Instance } from '../clouds/driver.ts'
import { RateLimited, Unanswered } from '../clouds/errors.ts'

export interface CloudParts {
  readonly driver: Driver
  readonly clock: Clock
  /** Between two listings of this replica. */
  readonly listMs: number
  /** Until all replicas together may make the next call. */
  readonly reserve: () => Promise<number>
  /** Counts a call, with the name of its error. */
  readonly onCall: (operation: string, error: string | undefined) => void
}

type Listing = readonly Instance[]

export class Cloud {
  readonly driver: Driver
  readonly #parts: CloudParts
  #listing: Promise<Listing> | undefined
  /** The listing that begins when the present one is over. */
  #next: Promise<Listing> | undefined
  #listedMs = Number.NEGATIVE_INFINITY

  constructor(parts: CloudParts) {
    this.driver = parts.driver
    this.#parts = parts
  }

  /** Makes one call in its turn. @throws as the driver does; {RetryLater} when too many wait for their turn */
  async call<T>(operation: string, call: CloudCall, ask: (driver: Driver) => Promise<T>): Promise<T> {
    const { clock, reserve, onCall, driver } = this.#parts
    const waitMs = await reserve()
    if (waitMs > 0) await clock.sleep(waitMs, call.signal)
    call.check?.()
    const span = call.span?.child(`cloud ${operation}`, { kind: 'client' })
    try {
      const answer = await ask(driver)
      onCall(operation, undefined)
      span?.end()
      return answer
    } catch (error) {
      const name = error instanceof Error ? error.name : 'Error'
      onCall(operation, name)
      // Words of a cloud may name accounts.
      span?.end({ error: name })
      throw error
    }
  }

  /** As `call`, for a step: what passes by itself is a later attempt. @throws {RetryLater} where the cloud wants a pause, or is silent */
  async ask<T>(operation: string, call: CloudCall, ask: (driver: Driver) => Promise<T>): Promise<T> {
    try {
      return await this.call(operation, call, ask)
    } catch (error) {
      if (error instanceof RateLimited) {
        const waitMs = error.untilMs - this.#parts.clock.wallMs()
        throw new RetryLater(error.message, Math.max(0, waitMs))
      }
      if (error instanceof Unanswered) throw new RetryLater(error.message)
      throw error
    }
  }

  /** A listing that begins after this question. @throws as `ask` */
  list(call: CloudCall): Promise<Listing> {
    if (!this.#next) {
      this.#next = this.#listNext(call.agent)
      // The caller may have given up meanwhile.
      this.#next.catch(() => {})
    }
    return unlessAborted(this.#next, call.signal)
  }

  async #listNext(agent: string): Promise<Listing> {
    const { clock, listMs } = this.#parts
    await this.#listing?.catch(() => {})
    const restMs = this.#listedMs + listMs - clock.monotonicMs()
    if (restMs > 0) await clock.sleep(restMs)
    this.#next = undefined
    // It serves many keepers, so the end of one does not end it.
    const call = { signal: AbortSignal.timeout(longestListMs), agent }
    this.#listing = this.ask('list', call, driver => driver.list(call))
    this.#listing.catch(() => {})
    this.#listedMs = clock.monotonicMs()
    return this.#listing
  }
}

const longestListMs = 60_000
