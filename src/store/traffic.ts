/**
 * Reports the traffic that a gateway lets through. Silence counts as such only where every gateway has reported, so each one says
 * every few seconds until when it has, even if there was nothing.
 *
 * The first use of a workload after 30 s of silence calls `touch` before it is let through, and obeys `stopping`. Later ones go
 * with the next `flush`.
 */
import type { Clock } from '../base/clock.ts'
import type { WorkloadKind } from '../config/idle.ts'
import type { Touch, TouchAnswer } from './idle.ts'
import type { Mark, TouchStore } from './touches.ts'

export interface TrafficStoreOptions {
  readonly touches: Pick<TouchStore, 'touch' | 'touchAll'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Unique among all that run, such as the name of its pod. */
  readonly gateway: string
  /** Those that it serves. */
  readonly kinds: readonly WorkloadKind[]
}

export interface Use {
  readonly kind: WorkloadKind
  readonly id: string
  /** When it was used last, by the monotonic clock; undefined: now. */
  readonly atMs?: number | undefined
}

const source = 'traffic'
/** Touches by one script, which keeps Redis from everything else for some milliseconds. */
const batchSize = 500

export class TrafficStore {
  readonly #options: TrafficStoreOptions
  /** Redis' clock, by its last answer. It is read before the answer comes, so it is never later than the present. */
  #redis: { readonly nowMs: number; readonly atMs: number } | undefined

  constructor(options: TrafficStoreOptions) {
    this.#options = options
  }

  /**
   * Says that this gateway is there. It must let nothing through before: nobody would wait for what it has to tell.
   * @throws {RetryLater} when Redis does not answer
   */
  async join(): Promise<void> {
    await this.flush([])
  }

  /**
   * Notes one use, before it is let through.
   * @throws {RetryLater} when the data of labs are not compared, or Redis does not answer
   */
  touch({ kind, id }: Use): Promise<TouchAnswer> {
    return this.#options.touches.touch(kind, { id, ageMs: 0 }, source)
  }

  /**
   * Reports all uses since the last flush that succeeded. Uses from the call on belong to the next one.
   * @returns an answer for each, in the same order
   * @throws {RetryLater} as `touch`; the next flush reports all of them again
   */
  async flush(uses: readonly Use[]): Promise<readonly TouchAnswer[]> {
    return this.#tell(uses, {})
  }

  /** As `flush`, of a gateway that lets nothing through any more: it is not waited for. */
  async leave(uses: readonly Use[] = []): Promise<readonly TouchAnswer[]> {
    return this.#tell(uses, { leaving: true })
  }

  async #tell(uses: readonly Use[], more: Omit<Mark, 'gateway'>): Promise<readonly TouchAnswer[]> {
    const { gateway, kinds, clock } = this.#options
    const atMs = clock.monotonicMs()
    // A command that is late must not say that nothing was seen meanwhile.
    const mark = { ...more, gateway, upToMs: this.#redis && this.#redis.nowMs + atMs - this.#redis.atMs }
    const numbered = uses.map((use, index) => ({ ...use, index, ageMs: atMs - (use.atMs ?? atMs) }))
    const answers: TouchAnswer[] = Array.from({ length: uses.length }, () => 'none')
    for (const kind of kinds) {
      const ofKind = numbered.filter(use => use.kind === kind)
      const told = await this.#tellKind(kind, ofKind, mark)
      for (const [at, { index }] of ofKind.entries()) answers[index] = told[at]!
    }
    return answers
  }

  /** The mark goes with the last of them: if one fails, nothing is said of silence. */
  async #tellKind(kind: WorkloadKind, touches: readonly Touch[], mark: Mark): Promise<readonly TouchAnswer[]> {
    const { touches: store, clock } = this.#options
    const all: TouchAnswer[] = []
    do {
      const batch = touches.slice(all.length, all.length + batchSize)
      const isLast = all.length + batch.length === touches.length
      const { answers, nowMs } = await store.touchAll(kind, batch, source, isLast ? mark : undefined)
      this.#redis = { nowMs, atMs: clock.monotonicMs() }
      all.push(...answers)
    } while (all.length < touches.length)
    return all
  }
}
