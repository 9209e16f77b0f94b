/**
 * The engine of a replica for one kind of subjects: finds operations without an owner, takes their lease, claims and runs
 * them. It looks at start, when the bell rings, and on an interval, so that nothing depends on a message that may be lost.
 *
 * It is in one of five modes:
 * - `idle`: asleep until the interval is over.
 * - `crowded`: asleep as well, but the last look left operations over.
 * - `heard`: a look follows, once the requests that are being accepted have their answer.
 * - `looking`: it asks Redis for operations, and takes several at once.
 * - `closed`: it takes no more operations, and hands over those it owns.
 *
 * | event | idle | crowded | heard | looking | closed |
 * |---|---|---|---|---|---|
 * | woken | heard | heard | heard | heard | closed |
 * | freed | idle | heard | heard | looking | closed |
 * | begun | looking | looking | looking | looking | closed |
 * | missed | idle | crowded | heard | looking | closed |
 * | ended | idle | crowded | heard | idle | closed |
 * | drained | closed | closed | closed | closed | closed |
 *
 * - `woken`: an operation was accepted or handed over here, or a ring was heard and no owner since. The end of an operation is
 *   no reason: whatever was accepted meanwhile has its own ring.
 * - `freed`: a slot came free. While `looking` it leads to `heard` if the last answer left operations over: the current
 *   look may have sent its request before the slot was free.
 * - `begun`, `missed`, `ended`: events of a look. A look that left operations over, because no slot was free or because its
 *   answer had no place for more, ends `crowded`.
 * - `drained`: the replica stops.
 */
import { type Clock, notNeeded } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import { logUnexpected } from '../base/log.ts'
import type { Slots } from '../base/slots.ts'
import type { Lease, Leases } from '../leases/leases.ts'
import type { Bell } from '../store/bell.ts'
import type { Claim } from '../store/claims.ts'
import type { Look } from '../store/look.ts'
import type { OwnerStore } from '../store/owners.ts'
import type { OperationFields, OperationRecord } from '../store/records.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Acceptance } from './acceptance.ts'
import { Beats } from './beats.ts'
import { Claiming } from './claiming.ts'
import { Hearing } from './hearing.ts'
import { Modes } from './modes.ts'
import { takeAll } from './taking.ts'

/** One run of an operation by this replica. */
export interface Run {
  readonly op: number
  /** @returns whether the operation has ended; false if this replica no longer owns it. Never rejects */
  run(): Promise<boolean>
  /** Stops at the current step, so that another replica continues. */
  handOver(): void
}

export interface EngineOptions<R extends OperationRecord, F extends OperationFields> {
  /** The name of the kind. */
  readonly kind: string
  readonly owners: OwnerStore<R, F>
  /** `places`: slots already taken for this run. */
  readonly createRun: (claim: Claim<R>, lease: Lease, places: number) => Run
  readonly leases: Leases
  readonly room: Slots
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly bell: Bell
  readonly acceptance: Acceptance
  readonly ttlMs: number
  readonly scanIntervalMs: number
  /** Whether operations last for days: then replicas share those that one has left. */
  readonly shares?: boolean
}

/** Operations requested beyond the free slots, since other replicas take some of them. */
const lookBeyond = 8
/** How long an operation that could not be taken is skipped, unless a ring announces that it can be. */
const refusedMs = 1_000
/** Part of the interval after which a replica takes what it left to others: most of them have looked by then. */
const shareAgain = 0.75

export class Engine<R extends OperationRecord = OperationRecord, F extends OperationFields = OperationFields> {
  readonly #options: EngineOptions<R, F>
  /** By the name of the subject, as all below. */
  readonly #runs = new Map<string, Run>()
  /** Subjects whose next operation was accepted while this replica ran the one before. */
  readonly #followed = new Set<string>()
  readonly #ended = new Set<Promise<void>>()
  readonly #beats: Beats
  /** Subjects whose operation could not be taken, and until when they are skipped. */
  readonly #refused = new Map<string, number>()
  readonly #claiming: Claiming<R, F>
  readonly #hearing: Hearing
  readonly #closed = new AbortController()
  readonly #modes = new Modes()
  #wake = new AbortController()
  #loop: Promise<void> | undefined
  /** Whether the last look at all left orphans to other replicas. */
  #left = false
  readonly #onFree = () => this.#on('freed')

  constructor(options: EngineOptions<R, F>) {
    this.#options = options
    const { kind, bell, clock } = options
    this.#beats = new Beats(options)
    this.#claiming = new Claiming(options)
    this.#hearing = new Hearing({
      kind,
      bell,
      clock,
      closed: this.#closed.signal,
      onTakeable: name => void (name === undefined ? this.#refused.clear() : this.#refused.delete(name)),
      onAccepted: this.#hearAccepted.bind(this),
      isRun: name => this.#runs.has(name),
      wake: () => this.wake(),
    })
  }

  /** The number of operations that this replica owns. */
  get size(): number {
    return this.#runs.size
  }

  start(): void {
    this.#options.room.onFree(this.#onFree)
    this.#hearing.start()
    this.#loop = this.#lookForever()
  }

  /** Looks at once, after an acceptance on this replica. */
  wake(): void {
    this.#on('woken')
  }

  /** Takes no more operations, and hands over those it owns. Resolves when it owns none. */
  async drain(): Promise<void> {
    this.#hearing.stop()
    this.#closed.abort()
    this.#on('drained')
    await this.#loop
    for (const run of this.#runs.values()) run.handOver()
    await Promise.all(this.#ended)
  }

  /** Ends the sleep if the event leads to a look or to the end. */
  #on(event: 'woken' | 'freed' | 'drained'): void {
    const mode = this.#modes.on(event)
    if (mode === 'heard' || mode === 'closed') this.#wake.abort(notNeeded)
  }

  #hearAccepted(name: string, op: number): void {
    this.#options.acceptance.announce()
    this.#options.leases.superseded(name, op)
    this.#refused.delete(name)
    const run = this.#runs.get(name)
    if (run && op > run.op) this.#followed.add(name)
  }

  async #lookForever(): Promise<void> {
    const { clock, log, scanIntervalMs } = this.#options
    let wholeLookAtMs = clock.monotonicMs()
    while (this.#modes.mode !== 'closed') {
      this.#wake = new AbortController()
      const restMs = Math.max(0, wholeLookAtMs - clock.monotonicMs())
      if (this.#modes.mode !== 'heard') await clock.sleep(restMs, this.#wake.signal).catch(() => {})
      await this.#options.acceptance.pause()
      if (this.#modes.on('begun') === 'closed') return
      // All beats are read only on the interval; after a ring, new and released operations are enough.
      const all = clock.monotonicMs() >= wholeLookAtMs
      if (all) wholeLookAtMs = clock.monotonicMs() + scanIntervalMs * (0.8 + Math.random() * 0.4)
      await this.#look(all).catch(error => logUnexpected(log, error, 'looking for operations failed'))
      if (all && this.#left) wholeLookAtMs = clock.monotonicMs() + scanIntervalMs * shareAgain
      this.#modes.on('ended')
    }
  }

  async #look(all: boolean): Promise<void> {
    const { owners, room, clock, log } = this.#options
    const now = clock.monotonicMs()
    for (const [name, untilMs] of this.#refused) if (untilMs <= now) this.#refused.delete(name)
    const limit = room.free + lookBeyond + this.#refused.size
    const look = await owners.look(limit, all)
    if (!look) return
    const found = await this.#beats.orphans(look, name => this.#runs.has(name))
    const orphans = found.slice(0, this.#shareOf(found.length, look))
    // Begun operations are taken even without a free slot: their clients already wait, and an operation that must act alone
    // would delay the claim. They queue for slots afterwards. An operation past its deadline is only ended.
    const begun = new Set([...orphans, ...look.overdue])
    const names = new Set([...begun, ...look.waiting.map(({ name }) => name)])
    const takeable = [...names].filter(name => !this.#runs.has(name) && !this.#refused.has(name))
    this.#modes.on('answered')
    const refused = await takeAll(takeable, {
      room,
      needsSlot: name => !begun.has(name),
      take: this.#take.bind(this),
      onMissed: () => this.#modes.on('missed'),
      isClosed: () => this.#modes.mode === 'closed',
      onError: error => log.error({ err: error }, 'taking an operation failed'),
    })
    if (look.waiting.length < limit) return
    // More may wait than were asked for.
    this.#modes.on('missed')
    if (refused > 0 && room.free > 0) this.#modes.on('woken')
  }

  /**
   * How many orphans to take. A replica that took all would stop all at its own end, so it leaves some to others once: those by
   * which it would own more than half of all.
   */
  #shareOf(found: number, { all, owned }: Look): number {
    if (!this.#options.shares) return found
    // How many there are is known on the interval only.
    if (!all) return 0
    const share = this.#left ? found : Math.max(0, Math.ceil(owned.length / 2) - this.#runs.size)
    this.#left = share < found
    return share
  }

  /** @returns false if another replica has the operation; true if it was taken, or cannot be taken by any replica now */
  async #take(name: string, places: number): Promise<boolean> {
    const { leases, room, clock, metrics } = this.#options
    const taken = await leases.acquire(name).catch(() => undefined)
    if (taken) await failpoint(`${this.#options.kind}.claim.before-act`, name)
    const claim = taken && (await this.#claiming.claim(name, taken.token))
    if (!taken || !claim) {
      // The lease is taken, or a compare holds this operation: retrying at once would spin.
      this.#refused.set(name, clock.monotonicMs() + refusedMs)
      // `takeAll` goes on with this place; the engines of other kinds that share the room do not know of it.
      room.leave(places, this.#onFree)
      return taken !== null
    }
    const lease = leases.keep({ name, op: claim.record.op, token: taken.token }, taken.sinceMs)
    metrics.leases.inc({ outcome: 'won', subject_kind: this.#options.kind })
    const run = this.#makeRun(claim, lease, places)
    if (!run) return true
    this.#runs.set(name, run)
    const ended = run.run().then(isOver => {
      leases.drop(lease)
      this.#runs.delete(name)
      this.#ended.delete(ended)
      const isFollowed = this.#followed.delete(name)
      if (!isOver || isFollowed) this.wake()
    })
    this.#ended.add(ended)
    return true
  }

  /** @returns undefined if the kind cannot run it: its lease is left to expire, so that the next owner does not hit it at once */
  #makeRun(claim: Claim<R>, lease: Lease, places: number): Run | undefined {
    const { createRun, leases, room, log } = this.#options
    try {
      return createRun(claim, lease, places)
    } catch (error) {
      leases.drop(lease)
      room.leave(places)
      log.error({ err: error, name: lease.name, op: lease.op }, 'an operation that was claimed cannot be run')
      return undefined
    }
  }
}
