/**
 * The engine of a replica: finds operations without an owner, takes their lease, claims and runs them. It looks at start,
 * when the bell rings, and on an interval, so that nothing depends on a message that may be lost.
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
 * - `woken`: an operation was accepted or handed over here, or a ring was heard up to 15 ms ago. The end of an operation is
 *   no reason: whatever was accepted meanwhile has its own ring.
 * - `freed`: a slot came free. While `looking` it leads to `heard` if the last answer left operations over: the current
 *   look may have sent its request before the slot was free.
 * - `begun`, `missed`, `ended`: events of a look. A look that left operations over, because no slot was free or because its
 *   answer had no place for more, ends `crowded`.
 * - `drained`: the replica stops.
 */
import { notNeeded } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import { logUnexpected } from '../base/log.ts'
import type { Leases } from '../leases/leases.ts'
import type { Bell } from '../store/bell.ts'
import type { Look } from '../store/owners.ts'
import type { Ring } from '../store/rings.ts'
import type { Acceptance } from './acceptance.ts'
import { Modes } from './modes.ts'
import { Owned, type RunOptions } from './owned.ts'
import { OperationRun } from './run.ts'
import { takeAll } from './taking.ts'

export interface EngineOptions extends RunOptions {
  readonly leases: Leases
  readonly bell: Bell
  readonly acceptance: Acceptance
  readonly ttlMs: number
  readonly scanIntervalMs: number
}

/** Random delay: the replica that accepted an operation claims it first, so fewer lease attempts fail. */
const claimDelayMs = 15
/** Operations requested beyond the free slots, since other replicas take some of them. */
const lookBeyond = 8
/** How long an operation that could not be taken is skipped, unless a ring announces that it can be. */
const refusedMs = 1_000

interface Observation {
  readonly beat: number
  readonly sinceMs: number
}

export class Engine {
  readonly #options: EngineOptions
  readonly #runs = new Map<string, OperationRun>()
  /** Users whose next operation was accepted while this replica ran the one before. */
  readonly #followed = new Set<string>()
  readonly #ended = new Set<Promise<void>>()
  readonly #observed = new Map<string, Observation>()
  /** Users whose operation could not be taken, and until when they are skipped. */
  readonly #refused = new Map<string, number>()
  readonly #closed = new AbortController()
  readonly #modes = new Modes()
  #wake = new AbortController()
  /** A ring was heard and the engine will wake for it: further rings until then need no other wake. */
  #ringing = false
  #loop: Promise<void> | undefined
  #offBell = () => {}

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /** The number of operations that this replica owns. */
  get size(): number {
    return this.#runs.size
  }

  start(): void {
    this.#options.room.onFree(() => this.#on('freed'))
    this.#offBell = this.#options.bell.on(ring => this.#hear(ring))
    this.#loop = this.#lookForever()
  }

  /** Looks at once, after an acceptance on this replica. */
  wake(): void {
    this.#on('woken')
  }

  /** Takes no more operations, and hands over those it owns. Resolves when it owns none. */
  async drain(): Promise<void> {
    this.#offBell()
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

  #hear(ring: Ring): void {
    if (ring.what === 'events') return
    if (ring.what === 'accepted' && ring.op) this.#options.leases.superseded(ring.subject.name, ring.op)
    if (ring.what === 'accepted' || ring.what === 'released') this.#refused.delete(ring.subject.name)
    if (ring.subject === undefined) this.#refused.clear()
    if (ring.what === 'ended' || ring.what === 'failed') return
    if (ring.what === 'accepted') {
      const run = this.#runs.get(ring.subject.name)
      if (run && (ring.op ?? 0) > run.op) this.#followed.add(ring.subject.name)
      if (run) return
    }
    if (this.#ringing) return
    this.#ringing = true
    this.#options.clock.sleep(Math.random() * claimDelayMs, this.#closed.signal).then(
      () => {
        this.#ringing = false
        this.wake()
      },
      () => {},
    )
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
      this.#modes.on('ended')
    }
  }

  async #look(all: boolean): Promise<void> {
    const { owners, room, clock, log } = this.#options
    const now = clock.monotonicMs()
    for (const [user, untilMs] of this.#refused) if (untilMs <= now) this.#refused.delete(user)
    const limit = room.free + lookBeyond + this.#refused.size
    const look = await owners.look(limit, all)
    if (!look) return
    const orphans = await this.#orphans(look)
    // Begun operations are taken even without a free slot: their clients already wait, and an operation that must act alone
    // would delay the claim. They queue for slots afterwards. An operation past its deadline is only ended.
    const begun = new Set([...orphans, ...look.overdue])
    const users = new Set([...begun, ...look.waiting.map(({ user }) => user)])
    const takeable = [...users].filter(user => !this.#runs.has(user) && !this.#refused.has(user))
    this.#modes.on('answered')
    const failures = await takeAll(takeable, {
      room,
      needsSlot: user => !begun.has(user),
      take: this.#take.bind(this),
      onMissed: () => this.#modes.on('missed'),
      isClosed: () => this.#modes.mode === 'closed',
      onError: error => log.error({ err: error }, 'taking an operation failed'),
    })
    if (look.waiting.length < limit) return
    // More may wait than were asked for.
    this.#modes.on('missed')
    if (failures > 0 && room.free > 0) this.#modes.on('woken')
  }

  /**
   * Operations whose owner no longer extends its lease: by Redis' clock or, in case that has stepped, by a beat that did
   * not change for a whole TTL by our clock.
   */
  async #orphans(look: Look): Promise<string[]> {
    const { clock, ttlMs, owners } = this.#options
    const now = clock.monotonicMs()
    const orphans: string[] = []
    for (const { user, beat } of look.owned) {
      if (this.#runs.has(user)) continue
      const before = this.#observed.get(user)
      const observation = before?.beat === beat ? before : { beat, sinceMs: now }
      this.#observed.set(user, observation)
      const still = now - observation.sinceMs >= ttlMs
      if (still) await owners.free(user, beat, ttlMs)
      if (still || beat < look.nowMs) orphans.push(user)
    }
    if (look.all) {
      const owned = new Set(look.owned.map(({ user }) => user))
      for (const user of this.#observed.keys()) if (!owned.has(user)) this.#observed.delete(user)
    }
    return orphans
  }

  /** @returns false if another replica has the operation, or a compare holds it */
  async #take(user: string, places: number): Promise<boolean> {
    const { leases, owners, room, ttlMs, clock, metrics } = this.#options
    const taken = await leases.acquire(user).catch(() => null)
    if (taken) await failpoint('lab.claim.before-act', user)
    const claim = taken && (await owners.claim(user, taken.token, ttlMs).catch(() => null))
    if (!taken || !claim) {
      if (taken) await leases.giveBack(user, taken.token)
      // The lease is taken, or a compare holds this operation: retrying at once would spin.
      this.#refused.set(user, clock.monotonicMs() + refusedMs)
      room.leave(places, false)
      return false
    }
    const lease = leases.keep({ user, op: claim.record.op, token: taken.token }, taken.sinceMs)
    metrics.leases.inc({ outcome: 'won' })
    const run = new OperationRun(new Owned(this.#options, claim, lease, places))
    this.#runs.set(user, run)
    const ended = run.run().then(isOver => {
      leases.drop(lease)
      this.#runs.delete(user)
      this.#ended.delete(ended)
      const isFollowed = this.#followed.delete(user)
      if (!isOver || isFollowed) this.wake()
    })
    this.#ended.add(ended)
    return true
  }
}
