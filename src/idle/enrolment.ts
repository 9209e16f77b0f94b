/**
 * Makes what is checked agree with what the watches show to run, and removes the annotations of the rest. Every replica does it:
 * each call may be repeated.
 */
import type { Clock } from '../base/clock.ts'
import { type Log, logUnexpected } from '../base/log.ts'
import { Loop, type Rest, restAfter } from '../base/loop.ts'
import type { DueStore } from '../store/due.ts'
import { isFresh } from './look.ts'
import type { StampPatch, WorkloadOwner } from './workloads/workload.ts'

/** As much of the owner of a kind as is needed. */
export interface Enrolled extends Pick<WorkloadOwner, 'kind' | 'facts' | 'silenceMs'> {
  /** All ids that the watches show. */
  ids(): Iterable<string>
  /** The annotations to remove from one that is stopped, or has no pod. */
  leftovers(id: string): StampPatch | undefined
}

export interface EnrolmentOptions {
  readonly owners: readonly Enrolled[]
  readonly due: Pick<DueStore, 'ids' | 'enrol' | 'dismiss'>
  /** Over which newcomers are spread. */
  readonly periodMs: number
  /** Called for one with annotations that are to be removed. */
  readonly tidy: (kind: Enrolled['kind'], id: string) => void
  readonly clock: Clock
  readonly log: Log
}

/** One round serves all changes meanwhile. */
const gatherMs = 100
/** Everything is compared that often, since Redis may have lost it. */
const compareMs = 60_000
/** While the watches are silent. */
const staleMs = 1_000
const retry = { baseMs: 200, capMs: 5_000 }
/** Of one call. */
const batch = 500

export class Enrolment {
  readonly #options: EnrolmentOptions
  readonly #loop: Loop
  /** Workloads that may have changed, by kind. */
  readonly #changed: ReadonlyMap<WorkloadOwner['kind'], Set<string>>
  /** The last report on each: true if it runs. */
  readonly #told: ReadonlyMap<WorkloadOwner['kind'], Map<string, boolean>>
  #comparedAtMs = Number.NEGATIVE_INFINITY

  constructor(options: EnrolmentOptions) {
    const { owners, clock, log } = options
    this.#options = options
    this.#changed = new Map(owners.map(({ kind }) => [kind, new Set()]))
    this.#told = new Map(owners.map(({ kind }) => [kind, new Map()]))
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      failed: (error, failures) => {
        logUnexpected(log, error, 'the list of what is checked cannot be written')
        return restAfter(failures, retry)
      },
    })
  }

  /** The watches are complete. Before that a workload would seem to have no pod. */
  start(): void {
    this.#loop.start()
  }

  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** A workload may have changed. */
  changed(kind: Enrolled['kind'], id: string): void {
    this.#changed.get(kind)?.add(id)
    this.#loop.wake()
  }

  /** Redis is another one. */
  compareAll(): void {
    this.#comparedAtMs = Number.NEGATIVE_INFINITY
    this.#loop.wake()
  }

  async #round(): Promise<Rest> {
    const { owners, clock } = this.#options
    const nowMs = clock.monotonicMs()
    const isTime = nowMs - this.#comparedAtMs >= compareMs
    // A replica that sees the past would undo what others did since.
    const compares = isTime && owners.every(isFresh)
    for (const owner of owners) {
      if (compares) await this.#compare(owner)
      await this.#tell(owner)
    }
    if (compares) this.#comparedAtMs = nowMs
    return { ms: isTime && !compares ? staleMs : this.#comparedAtMs + compareMs - nowMs, deafMs: gatherMs }
  }

  /** Tells what has begun to run, or has ended. A change of a status or an annotation costs no call. */
  async #tell(owner: Enrolled): Promise<void> {
    const changed = this.#changed.get(owner.kind)!
    const some = [...changed].slice(0, batch)
    // Before they are judged: what changes while Redis answers is judged again.
    for (const id of some) changed.delete(id)
    try {
      await this.#tellOf(owner, some)
    } catch (error) {
      for (const id of some) changed.add(id)
      throw error
    }
    if (changed.size > 0) this.#loop.wake()
  }

  async #tellOf(owner: Enrolled, ids: readonly string[]): Promise<void> {
    const told = this.#told.get(owner.kind)!
    const begun: string[] = []
    for (const id of ids) {
      if (owner.facts(id)) {
        if (told.get(id) !== true) begun.push(id)
        continue
      }
      if (told.get(id) !== false) await this.#options.due.dismiss(owner.kind, id)
      this.#end(owner, id)
    }
    await this.#begin(owner, begun)
  }

  async #compare(owner: Enrolled): Promise<void> {
    const { due } = this.#options
    const checked = new Set(await due.ids(owner.kind))
    const told = this.#told.get(owner.kind)!
    const running = new Set<string>()
    for (const id of owner.ids()) {
      if (owner.facts(id)) running.add(id)
      else this.#end(owner, id)
    }
    for (const id of told.keys()) if (!running.has(id)) told.delete(id)
    for (const id of checked) if (!running.has(id)) await due.dismiss(owner.kind, id)
    await this.#begin(
      owner,
      [...running].filter(id => !checked.has(id)),
    )
    for (const id of running) told.set(id, true)
  }

  async #begin(owner: Enrolled, ids: readonly string[]): Promise<void> {
    const { due, periodMs } = this.#options
    const told = this.#told.get(owner.kind)!
    for (let from = 0; from < ids.length; from += batch) {
      const some = ids.slice(from, from + batch)
      await due.enrol(owner.kind, some, periodMs)
      for (const id of some) told.set(id, true)
    }
  }

  /** It does not run. A workload that is gone altogether is forgotten, so the memory is bounded by the existing ones. */
  #end(owner: Enrolled, id: string): void {
    const told = this.#told.get(owner.kind)!
    if (owner.leftovers(id) !== undefined) this.#options.tidy(owner.kind, id)
    told.set(id, false)
  }
}
