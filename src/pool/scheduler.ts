/**
 * Decides which container gets which machine, and which machines come and go. One replica does it, by lease: it reads, decides
 * and writes. It speaks to no cloud and to no machine: keepers carry out what it wrote. Two replicas do no harm, since each
 * decision is written only under the lease's token, and for what was read.
 */
import { setImmediate } from 'node:timers/promises'
import { restAfter } from '../base/loop.ts'
import { sentOf } from '../dispatch/container.ts'
import { afterOverload, type ContainersLimit, firstLimit, grown } from '../dispatch/containers-limit.ts'
import { decide } from '../dispatch/decide.ts'
import type { Decisions } from '../dispatch/types.ts'
import { Duty, type DutyRest, type Take } from '../duties/duty.ts'
import type { Reading, SchedulingStore } from '../store/dispatch/scheduling.ts'
import { containerKind, machineKind } from '../store/dispatch-keys.ts'
import type { Missed, Ring } from '../store/rings.ts'
import { mostOfGroup, seenInAll, withoutDoubtful } from './heads.ts'
import { draftsOf, headsOf, inputOf, type PoolRules, sentencesOf } from './mapping.ts'
import type { DutyParts } from './parts.ts'
import { Writer, type WriterOptions } from './writer.ts'

/** The report of a pass, for metrics and for tests. */
export interface PassReport {
  readonly readMs: number
  readonly decideMs: number
  readonly writeMs: number
  /** Decisions that were written, and those for which something had changed meanwhile. */
  readonly done: number
  readonly changed: number
  /** Another pass follows at once. */
  readonly again: boolean
}

export interface SchedulerOptions extends Omit<WriterOptions, 'store'>, DutyParts {
  readonly store: Pick<SchedulingStore, 'watch' | 'read' | 'draw' | 'write' | 'explain'>
  /** Key of the lease. */
  readonly lease: string
  readonly pool: PoolRules
  /** PollInterval: the longest time between two passes. */
  readonly pollMs: number
  /** How often a replica without the lease tries to take it. */
  readonly scanMs: number
  /** InitialQuotaEstimate; 0 is no limit. */
  readonly initialQuotaEstimate: number
  /** Redis' clock when what runs was last too much for Arvados, as its 503 says; 0 if never. Default: never. */
  readonly overloadedMs?: () => Promise<number>
  readonly onPass: (report: PassReport) => void
}

/** Three polls are a gap, and never less than this: machines that were silent meanwhile have had nobody to answer. */
const leastGapMs = 60_000
/** The pause after a pass: the next one covers all rings meanwhile, its own among them. */
const gatherMs = 100
/** A pass over much is followed by a rest of twice its time, so that it never takes more than a third of the loop. */
const restByWork = 2
const changedBackoff = { baseMs: gatherMs, capMs: 2_000 }
/** After a failure another replica may try; this one tries again later. */
const backoff = { baseMs: 500, capMs: 10_000 }

export class Scheduler {
  readonly #options: SchedulerOptions
  readonly #duty: Duty
  readonly #writer: Writer
  #limit: ContainersLimit
  #maxContainers: number | undefined
  #heldOp = 0
  /** Containers that machines were asked to run, as the last pass has read. */
  #sent: ReadonlySet<string> = new Set()
  /** Consecutive passes that wrote nothing, since all had changed. */
  #changes = 0

  constructor(options: SchedulerOptions) {
    const { clock, leases, lease, log } = options
    this.#options = options
    this.#writer = new Writer(options)
    this.#limit = firstLimit(options.initialQuotaEstimate)
    this.#duty = new Duty({
      clock,
      leases,
      lease,
      round: take => this.#round(take),
      failed: (error, failures) => {
        log.warn({ reason: (error as Error).message }, 'scheduling is put off')
        return restAfter(failures, backoff)
      },
      onEnd: () => {
        this.#writer.forget()
        this.#maxContainers = undefined
      },
    })
  }

  /** The limit of containers, infinite without one; undefined while another replica schedules. */
  get maxContainers(): number | undefined {
    return this.#maxContainers
  }

  start(): void {
    this.#duty.start()
  }

  /** Awaits the pass in progress, and releases the lease. */
  async stop(): Promise<void> {
    await this.#duty.stop()
  }

  /**
   * A pass begins soon where containers, machines or everything may have changed. Changes of a container that a machine was asked
   * to run ring for its machine too: so output, which rings often, asks for no pass.
   */
  hear({ subject }: Ring | Missed): void {
    const isOfContainer = subject?.kind === containerKind && !this.#sent.has(subject.name)
    if (subject === undefined || isOfContainer || subject.kind === machineKind) this.wake()
  }

  wake(): void {
    this.#duty.wake()
  }

  async #round(take: Take): Promise<DutyRest> {
    const { scanMs, clock } = this.#options
    const token = await take()
    if (token === null) return { ms: 0, deafMs: scanMs }
    const begunMs = clock.monotonicMs()
    const dueInMs = await this.#pass(token)
    if (dueInMs === null) return { ms: 0, deafMs: scanMs }
    const tookMs = clock.monotonicMs() - begunMs
    const deafMs = Math.max(gatherMs, restByWork * tookMs, this.#pauseMs())
    return { ms: Math.max(0, dueInMs - deafMs), deafMs, keep: true }
  }

  #pauseMs(): number {
    return this.#changes > 1 ? (restAfter(this.#changes, changedBackoff).deafMs ?? 0) : 0
  }

  /** @returns the milliseconds until the next pass at the latest; null when the lease is lost, or the data are compared first */
  async #pass(token: string): Promise<number | null> {
    const { store, clock, failpoint, onPass, pollMs } = this.#options
    const times = [clock.monotonicMs()]
    const mark = () => times.push(clock.monotonicMs())
    const watchedMs = await store.watch(token, Math.max(leastGapMs, 3 * pollMs))
    if (watchedMs === null) return null
    const reading = await store.read({ perGroup: mostOfGroup, inAll: seenInAll })
    if (reading === null) return null
    mark()
    await failpoint('schedule.read')
    this.#maxContainers = this.#limitFor(reading, (await this.#options.overloadedMs?.()) ?? 0)
    const { decisions, again } = await this.#decide(reading, this.#maxContainers, watchedMs)
    mark()
    const heldOp = this.#heldOp
    const written = await this.#write(token, reading, decisions)
    if (written === null) return null
    mark()
    // Keepers always change something of many machines: only passes that get nothing done rest longer.
    this.#changes = written.changed > 0 && written.done === 0 ? this.#changes + 1 : 0
    const isMore = again || written.changed > 0 || written.isCut || written.heldOp > heldOp
    const [readMs, decideMs, writeMs] = times.slice(1).map((ms, i) => ms - times[i]!) as [number, number, number]
    onPass({ readMs, decideMs, writeMs, done: written.done, changed: written.changed, again: isMore })
    if (isMore) return 0
    return Math.min(pollMs, Math.max(0, (decisions.dueMs ?? Number.POSITIVE_INFINITY) - reading.nowMs))
  }

  /** Each part is short, and others have their turn between them. */
  async #decide(reading: Reading, maxContainers: number, watchedMs: number) {
    if (reading.unasked === 0) this.#heldOp = 0
    const input = inputOf(reading, this.#options.pool, { maxContainers, heldOp: this.#heldOp, watchedMs })
    await setImmediate()
    const decisions = decide(input)
    await setImmediate()
    const heads = headsOf(reading, this.#heldOp)
    await setImmediate()
    const priorities = new Map(input.queue.map(({ uuid, priority }) => [uuid, priority]))
    return withoutDoubtful(decisions, heads, uuid => priorities.get(uuid))
  }

  async #write(token: string, reading: Reading, decisions: Decisions) {
    await this.#options.failpoint('schedule.decided')
    const written = await this.#writer.write(token, draftsOf(decisions, reading, this.#options.pool))
    if (written === null) return null
    await this.#options.failpoint('schedule.written')
    this.#heldOp = Math.max(this.#heldOp, written.heldOp)
    await setImmediate()
    const isTold = await this.#writer.explain(token, sentencesOf(reading, decisions, this.#heldOp))
    return isTold ? written : null
  }

  /** @param overloadedMs of the last overload; 0 without one */
  #limitFor({ machines, nowMs }: Reading, overloadedMs: number): number {
    this.#sent = new Set(machines.flatMap(sentOf).map(({ uuid }) => uuid))
    const running = this.#sent.size
    const isNew = overloadedMs > 0 && overloadedMs !== this.#limit.overloadedMs
    this.#limit = isNew ? afterOverload(running, overloadedMs) : grown(this.#limit, running, nowMs)
    return this.#limit.most
  }
}
