/**
 * Limits audit lines of refusals: each actor's first ones have a line each; the others are counted and logged together.
 */
import { Buckets } from '../base/buckets.ts'
import { type Clock, notNeeded } from '../base/clock.ts'
import type { AuditEvent, AuditLog } from './audit.ts'

export interface FloodOptions {
  readonly audit: Pick<AuditLog, 'write'>
  readonly clock: Clock
}

/** Lines of refusals for one actor; all unknown actors count as one. */
export const refusalRate = { perSecond: 1, burst: 100 }
/** How long refusals are counted before they are logged. */
export const flushIntervalMs = 10_000
/** Kinds of refusals that are counted separately; further ones are counted without a name. */
const maxKinds = 1000

interface Counted {
  readonly event: AuditEvent
  count: number
}

export class RefusalFlood {
  readonly #options: FloodOptions
  readonly #buckets: Buckets
  readonly #counted = new Map<string, Counted>()
  #waiting: AbortController | undefined

  constructor(options: FloodOptions) {
    this.#options = options
    this.#buckets = new Buckets(refusalRate, options.clock)
  }

  write(event: AuditEvent): void {
    if (this.#buckets.take(event.actor.name ?? '') === 0) {
      this.#options.audit.write(event)
      return
    }
    this.#count(event)
    this.#tellLater()
  }

  /** Logs the counts. */
  flush(): void {
    this.#waiting?.abort(notNeeded)
    this.#waiting = undefined
    for (const { event, count } of this.#counted.values()) this.#options.audit.write({ ...event, count })
    this.#counted.clear()
  }

  /** Addresses, ids and users differ between requests: only common fields are logged. */
  #count({ action, result, reason, actor, object }: AuditEvent): void {
    const common = { action, result, reason, object: { kind: object.kind } }
    const named = JSON.stringify([action, reason, actor])
    const isKept = this.#counted.has(named) || this.#counted.size < maxKinds
    const key = isKept ? named : JSON.stringify([action, reason])
    const counted = this.#counted.get(key) ?? {
      event: { ...common, actor: isKept ? actor : { kind: actor.kind } },
      count: 0,
    }
    counted.count += 1
    this.#counted.set(key, counted)
  }

  #tellLater(): void {
    if (this.#waiting) return
    this.#waiting = new AbortController()
    this.#options.clock.sleep(flushIntervalMs, this.#waiting.signal).then(
      () => this.flush(),
      () => {},
    )
  }
}
