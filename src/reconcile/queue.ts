/**
 * Keys that have to be looked at, each once. Urgent ones pass all others; in each lane shares take turns (see `Places`). A key
 * that is looked at is not given out again before that is over. No I/O except the clock.
 */
import type { Clock } from '../base/clock.ts'
import { Later } from '../base/later.ts'
import { type Asked, Lane, type LaneOptions } from './lane.ts'
import { Places } from './places.ts'

/** `passing` and `groupOf` are those of keys that are not urgent. */
export interface QueueOptions extends Pick<LaneOptions, 'passing' | 'groupOf'> {
  readonly clock: Clock
  /** Time in which the events of one change are gathered. */
  readonly gatherMs: number
  /** Number of keys that are looked at at once. */
  readonly room: number
  /** The share that a key counts for, from when it begins to wait to the end of its look. */
  readonly shareOf: (key: string) => string
  /** Called when a key can be taken. */
  readonly onReady: () => void
}

export interface AddOptions {
  /** Every replica is asked. */
  readonly mayLeave?: boolean
  /**
   * The look waits as long, unless it is urgent, and up to 100 ms longer: by then another replica should have acted. So does one
   * that was asked for before and `mayLeave`, once.
   */
  readonly deferMs?: number
}

export interface LaterOptions {
  readonly urgent?: boolean
  readonly mayLeave?: boolean
  /** Only urgent asking is heard until then. */
  readonly hold?: boolean
  /** The time since which it waits. Default: from then on. */
  readonly sinceMs?: number | undefined
}

/** A key, and since when it waits by the monotonic clock. */
export interface Taken extends Asked {
  readonly key: string
}

export class KeyQueue {
  readonly #options: QueueOptions
  readonly #later: Later
  /** Asked for a moment ago. */
  readonly #gathering = new Map<string, Asked>()
  readonly #urgent: Lane
  readonly #normal: Lane
  readonly #places: Places
  /** Left to others for a moment. */
  readonly #deferred = new Map<string, Asked>()
  /** Asked for while they are busy. */
  readonly #again = new Map<string, Asked>()
  /** The one later time of a key. `hold`: until then it is looked at only if that is urgent. */
  readonly #due = new Map<string, { readonly hold: boolean }>()
  #cancelGathering: (() => void) | undefined
  #stopped = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#later = new Later(options.clock)
    this.#urgent = new Lane(options.shareOf)
    this.#normal = new Lane(options.shareOf, options)
    this.#places = new Places(options.room)
  }

  /** The number of keys that can be taken, or are about to be; not those that are left to others. */
  get depth(): number {
    return this.#gathering.size + this.#urgent.size + this.#normal.size + this.#again.size
  }

  /** Asks for a look at a key. */
  add(key: string, urgent: boolean, { mayLeave = false, deferMs = 0 }: AddOptions = {}): void {
    if (this.#stopped || this.#isHeld(key, urgent)) return
    const asked = { urgent, sinceMs: this.#options.clock.monotonicMs(), mayLeave }
    const waiting = this.#waiting(key)
    const mustStay = waiting !== undefined && (waiting.urgent || !waiting.mayLeave)
    if (urgent || deferMs === 0 || mustStay) this.#add(key, asked)
    else if (!this.#deferred.has(key)) this.#defer(key, { ...merged(waiting, asked), mayLeave: false }, deferMs)
  }

  /** Asks for a look in `ms`, and up to 100 ms later. Replaces a look that was asked for with `after` before. */
  after(key: string, ms: number, options: LaterOptions = {}): void {
    const { urgent = false, mayLeave = false, hold = false, sinceMs } = options
    if (this.#stopped) return
    const due = { hold }
    this.#due.set(key, due)
    this.#later.after(ms, () => {
      if (this.#due.get(key) !== due) return
      this.#due.delete(key)
      this.#add(key, { urgent, mayLeave, sinceMs: sinceMs ?? this.#options.clock.monotonicMs() })
    })
  }

  /** Takes back a look that was asked for with `after`. */
  forget(key: string): void {
    this.#due.delete(key)
  }

  /** The next key, urgent ones first; undefined while none has a place. */
  take(): Taken | undefined {
    return this.#takeOf(this.#urgent, true) ?? this.#takeOf(this.#normal, false)
  }

  /** The API server has answered a write after `ms`. */
  answered(ms: number): void {
    this.#places.answered(ms)
  }

  /** A key that was taken has been looked at. */
  done(key: string): void {
    this.#places.leave(key)
    const asked = this.#again.get(key)
    this.#again.delete(key)
    if (asked && !this.#stopped && !this.#isHeld(key, asked.urgent)) this.#ready(key, asked)
    this.#options.onReady()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelGathering?.()
    for (const keys of [this.#deferred, this.#gathering, this.#urgent, this.#normal, this.#again]) keys.clear()
    await this.#later.stop()
  }

  #isHeld(key: string, urgent: boolean): boolean {
    return !urgent && (this.#due.get(key)?.hold ?? false)
  }

  #waiting(key: string): Asked | undefined {
    return this.#gathering.get(key) ?? this.#urgent.get(key) ?? this.#normal.get(key)
  }

  /** A key that waits is taken out of its lane. */
  #defer(key: string, asked: Asked, ms: number): void {
    this.#gathering.delete(key)
    this.#normal.delete(key)
    this.#deferred.set(key, asked)
    this.#later.after(ms, () => {
      if (this.#deferred.get(key) !== asked) return
      if (this.#isHeld(key, false)) this.#deferred.delete(key)
      else this.#add(key, asked)
    })
  }

  #add(key: string, given: Asked): void {
    const asked = merged(this.#deferred.get(key), given)
    this.#deferred.delete(key)
    if (this.#places.has(key)) return void this.#again.set(key, merged(this.#again.get(key), asked))
    if (this.#urgent.get(key)) return
    const waiting = this.#normal.get(key)
    if (waiting && !asked.urgent) return void this.#normal.set(key, merged(waiting, asked))
    this.#gathering.set(key, merged(this.#gathering.get(key) ?? waiting, asked))
    this.#normal.delete(key)
    this.#cancelGathering ??= this.#options.clock.after(this.#options.gatherMs, () => this.#gathered())
  }

  #gathered(): void {
    this.#cancelGathering = undefined
    for (const [key, asked] of this.#gathering) this.#ready(key, asked)
    this.#gathering.clear()
    this.#options.onReady()
  }

  #ready(key: string, asked: Asked): void {
    const lane = asked.urgent ? this.#urgent : this.#normal
    lane.set(key, merged(lane.get(key), asked))
  }

  #takeOf(lane: Lane, urgent: boolean): Taken | undefined {
    if (!this.#places.isOpen(urgent)) return undefined
    const next = lane.take(share => this.#places.isOpenFor({ share, urgent }))
    if (!next) return undefined
    const { key, share, asked } = next
    this.#places.take(key, { share, urgent })
    return { key, ...asked }
  }
}

const merged = (before: Asked | undefined, { urgent, sinceMs, mayLeave }: Asked): Asked => ({
  urgent: urgent || (before?.urgent ?? false),
  sinceMs: Math.min(sinceMs, before?.sinceMs ?? sinceMs),
  mayLeave: mayLeave && (before?.mayLeave ?? true),
})
