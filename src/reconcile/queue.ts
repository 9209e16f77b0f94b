/**
 * Keys that have to be looked at, each once. Urgent ones pass all others. A key that is looked at is not given out again
 * before that is over. No I/O except the clock.
 */
import type { Clock } from '../base/clock.ts'
import { Later } from '../base/later.ts'

export interface QueueOptions {
  readonly clock: Clock
  /** Time in which the events of one change are gathered. */
  readonly gatherMs: number
  /** Called when a key can be taken. */
  readonly onReady: () => void
}

export interface Taken {
  readonly key: string
  readonly urgent: boolean
  /** Since when it waits, by the monotonic clock. */
  readonly sinceMs: number
}

interface Asked {
  readonly urgent: boolean
  readonly sinceMs: number
}

export class KeyQueue {
  readonly #options: QueueOptions
  readonly #later: Later
  /** Asked for a moment ago. */
  readonly #gathering = new Map<string, Asked>()
  readonly #urgent = new Map<string, Asked>()
  readonly #normal = new Map<string, Asked>()
  readonly #busy = new Set<string>()
  /** Asked for while they are busy. */
  readonly #again = new Map<string, Asked>()
  /** The one later time of a key. `hold`: until then it is looked at only if that is urgent. */
  readonly #due = new Map<string, { readonly hold: boolean }>()
  #cancelGathering: (() => void) | undefined
  #stopped = false

  constructor(options: QueueOptions) {
    this.#options = options
    this.#later = new Later(options.clock)
  }

  /** The number of keys that can be taken, or are about to be. */
  get depth(): number {
    return this.#gathering.size + this.#urgent.size + this.#normal.size + this.#again.size
  }

  /** Asks for a look at a key. */
  add(key: string, urgent: boolean): void {
    if (this.#stopped || this.#isHeld(key, urgent)) return
    this.#add(key, { urgent, sinceMs: this.#options.clock.monotonicMs() })
  }

  /**
   * Asks for a look in `ms`, and up to 100 ms later. Replaces what was asked before with `after`.
   * @param hold whether only urgent asking is heard until then
   */
  after(
    key: string,
    ms: number,
    { urgent = false, hold = false }: { readonly urgent?: boolean; readonly hold?: boolean } = {},
  ): void {
    if (this.#stopped) return
    const due = { hold }
    this.#due.set(key, due)
    this.#later.after(ms, () => {
      if (this.#due.get(key) !== due) return
      this.#due.delete(key)
      this.add(key, urgent)
    })
  }

  /** Takes what was asked for with `after` back. */
  forget(key: string): void {
    this.#due.delete(key)
  }

  /** The next key, urgent ones first; undefined without one. */
  take(urgentOnly: boolean): Taken | undefined {
    return this.#takeOf(this.#urgent) ?? (urgentOnly ? undefined : this.#takeOf(this.#normal))
  }

  /** A key that was taken has been looked at. */
  done(key: string): void {
    this.#busy.delete(key)
    const asked = this.#again.get(key)
    this.#again.delete(key)
    if (asked && !this.#stopped && !this.#isHeld(key, asked.urgent)) this.#ready(key, asked)
    if (asked) this.#options.onReady()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelGathering?.()
    for (const keys of [this.#gathering, this.#urgent, this.#normal, this.#again]) keys.clear()
    await this.#later.stop()
  }

  #isHeld(key: string, urgent: boolean): boolean {
    return !urgent && (this.#due.get(key)?.hold ?? false)
  }

  #add(key: string, asked: Asked): void {
    const { urgent, sinceMs } = asked
    if (this.#busy.has(key)) return void this.#again.set(key, merged(this.#again.get(key), asked))
    const waiting = this.#normal.get(key)
    if (this.#urgent.has(key) || (waiting && !urgent)) return
    this.#gathering.set(key, merged(this.#gathering.get(key) ?? waiting, { urgent, sinceMs }))
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

  #takeOf(lane: Map<string, Asked>): Taken | undefined {
    const next = lane.entries().next().value
    if (!next) return undefined
    const [key, asked] = next
    lane.delete(key)
    this.#busy.add(key)
    return { key, ...asked }
  }
}

const merged = (before: Asked | undefined, { urgent, sinceMs }: Asked): Asked => ({
  urgent: urgent || (before?.urgent ?? false),
  sinceMs: Math.min(sinceMs, before?.sinceMs ?? sinceMs),
})
