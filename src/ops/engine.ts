/**
 * The engine of a replica: finds operations that nobody owns, takes their lease, claims and runs them. It looks at start,
 * when the bell rings, and on an interval, so that nothing depends on a message that may be lost.
 *
 * It is in one of five modes:
 * - `idle`: asleep until the interval is over.
 * - `crowded`: asleep as well, but the last look passed operations over for want of a place in the room.
 * - `heard`: something happened, so a look follows, once the requests that are being accepted have their answer.
 * - `looking`: it asks Redis for operations, and takes them one by one.
 * - `closed`: it takes nothing more, and hands over what it has.
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
 * - `woken`: something was accepted or ended here, or a ring was heard up to 15 ms ago.
 * - `freed`: a place in the room came free. While `looking` it leads to `heard` if the last answer left operations over:
 *   this one may have been asked for before the place was free.
 * - `begun`, `missed`, `ended`: of a look. One that missed an operation for want of a place ends `crowded`.
 * - `drained`: the replica stops.
 */
import { notNeeded } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { failpoint } from '../base/failpoint.ts'
import type { Leases } from '../leases/leases.ts'
import type { Bell } from '../store/bell.ts'
import type { Look } from '../store/owners.ts'
import type { Ring } from '../store/rings.ts'
import type { Acceptance } from './acceptance.ts'
import { Modes } from './modes.ts'
import { Owned, type RunOptions } from './owned.ts'
import { OperationRun } from './run.ts'

export interface EngineOptions extends RunOptions {
  readonly leases: Leases
  readonly bell: Bell
  readonly acceptance: Acceptance
  readonly ttlMs: number
  readonly scanIntervalMs: number
}

/** Others are let go first with what they accepted themselves: fewer refusals, and no difference to anyone. */
const courtesyMs = 15
/** Operations looked at beyond the room there is, since others take some of them. */
const lookBeyond = 8
/** How long an operation that could not be taken is passed over, unless the bell tells that it can. */
const refusedMs = 1_000

interface Observation {
  readonly beat: number
  readonly sinceMs: number
}

export class Engine {
  readonly #options: EngineOptions
  readonly #runs = new Map<string, OperationRun>()
  readonly #ended = new Set<Promise<void>>()
  readonly #observed = new Map<string, Observation>()
  /** Users whose operation could not be taken, until when they are passed over. */
  readonly #refused = new Map<string, number>()
  readonly #closed = new AbortController()
  readonly #modes = new Modes()
  #wake = new AbortController()
  /** A ring was heard, and the engine will be woken for it: rings until then are one with it. */
  #ringing = false
  #loop: Promise<void> | undefined
  #offBell = () => {}

  constructor(options: EngineOptions) {
    this.#options = options
  }

  /** How many operations this replica owns. */
  get size(): number {
    return this.#runs.size
  }

  start(): void {
    this.#options.room.onFree(() => this.#on('freed'))
    this.#offBell = this.#options.bell.on(ring => this.#hear(ring))
    this.#loop = this.#lookForever()
  }

  /** Looks at once: something was accepted here. */
  wake(): void {
    this.#on('woken')
  }

  /** Takes nothing more, and hands over what it has. Resolves when nothing is owned. */
  async drain(): Promise<void> {
    this.#offBell()
    this.#closed.abort()
    this.#on('drained')
    await this.#loop
    for (const run of this.#runs.values()) run.handOver()
    await Promise.all(this.#ended)
  }

  /** Ends the sleep where the event leads to a look, or to the end. */
  #on(event: 'woken' | 'freed' | 'drained'): void {
    const mode = this.#modes.on(event)
    if (mode === 'heard' || mode === 'closed') this.#wake.abort(notNeeded)
  }

  #hear(ring: Ring): void {
    if (ring.what === 'events') return
    if (ring.what === 'accepted' && ring.op) this.#options.leases.superseded(ring.subject.name, ring.op)
    if (ring.what === 'accepted' || ring.what === 'released') this.#refused.delete(ring.subject.name)
    if (ring.subject === undefined) this.#refused.clear()
    if (ring.what === 'ended' || (ring.what === 'accepted' && this.#runs.has(ring.subject.name))) return
    if (this.#ringing) return
    this.#ringing = true
    this.#options.clock.sleep(Math.random() * courtesyMs, this.#closed.signal).then(
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
      // All beats are read on the interval alone; the bell needs only what it may have been about.
      const all = clock.monotonicMs() >= wholeLookAtMs
      if (all) wholeLookAtMs = clock.monotonicMs() + scanIntervalMs * (0.8 + Math.random() * 0.4)
      await this.#look(all).catch(error => {
        if (!(error instanceof RetryLater)) log.error({ err: error }, 'looking for operations failed')
      })
      this.#modes.on('ended')
    }
  }

  async #look(all: boolean): Promise<void> {
    const { owners, room, clock } = this.#options
    const now = clock.monotonicMs()
    for (const [user, untilMs] of this.#refused) if (untilMs <= now) this.#refused.delete(user)
    const limit = room.free + lookBeyond + this.#refused.size
    const look = await owners.look(limit, all)
    if (!look) return
    const orphans = await this.#orphans(look)
    // Begun operations are taken whatever the room: they queue for it like all others here, but clients wait for their
    // new owner already, and whoever must act alone would hold up their claim. One past its deadline is only to be ended.
    const begun = new Set([...orphans, ...look.overdue])
    const users = new Set([...begun, ...look.waiting.map(({ user }) => user)])
    const takeable = [...users].filter(user => !this.#runs.has(user) && !this.#refused.has(user))
    this.#modes.on('answered')
    for (const user of takeable) {
      if (this.#modes.mode === 'closed') return
      const places = room.tryEnter() ? 1 : 0
      if (places === 1 || begun.has(user)) await this.#take(user, places)
      else this.#modes.on('missed')
    }
  }

  /**
   * Operations whose owner extends no more: by Redis' clock, or, should that have stepped, by a beat that stood still for
   * a whole TTL of ours.
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

  async #take(user: string, places: number): Promise<void> {
    const { leases, owners, room, ttlMs, clock, metrics } = this.#options
    const taken = await leases.acquire(user).catch(() => null)
    if (taken) await failpoint('lab.claim.before-act', user)
    const claim = taken && (await owners.claim(user, taken.token, ttlMs).catch(() => null))
    if (!taken || !claim) {
      if (taken) await leases.giveBack(user, taken.token)
      // Whose lease still stands, or who is held: asking again at once would only spin.
      this.#refused.set(user, clock.monotonicMs() + refusedMs)
      return room.leave(places, false)
    }
    const lease = leases.keep({ user, op: claim.record.op, token: taken.token }, taken.sinceMs)
    metrics.leases.inc({ outcome: 'won' })
    const run = new OperationRun(new Owned(this.#options, claim, lease, places))
    this.#runs.set(user, run)
    const ended = run.run().finally(() => {
      leases.drop(lease)
      this.#runs.delete(user)
      this.#ended.delete(ended)
      this.wake()
    })
    this.#ended.add(ended)
  }
}
