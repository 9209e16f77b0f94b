/** Refusals that come in floods: each actor's first have a line each, the others are counted, and told together. */
import { Buckets } from '../base/buckets.ts'
import { type Clock, notNeeded } from '../base/clock.ts'
import type { AuditEvent, AuditLog } from './audit.ts'

export interface FloodOptions {
  readonly audit: Pick<AuditLog, 'write'>
  readonly clock: Clock
}

/** Lines of refusals for one actor; all whose name is not known are one. */
export const refusalRate = { perSecond: 1, burst: 100 }
/** How long refusals are counted before they are told. */
export const tellEveryMs = 10_000
/** Kinds of refusals that are counted apart; the others are counted without a name. */
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

  /** Tells what was counted. */
  flush(): void {
    this.#waiting?.abort(notNeeded)
    this.#waiting = undefined
    for (const { event, count } of this.#counted.values()) this.#options.audit.write({ ...event, count })
    this.#counted.clear()
  }

  /** Of many requests the addresses, ids and users differ: what is common to them is told. */
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
    this.#options.clock.sleep(tellEveryMs, this.#waiting.signal).then(
      () => this.flush(),
      () => {},
    )
  }
}
