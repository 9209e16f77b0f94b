/**
 * Leases: the right to own the operation of a subject. Each kind has a `Leases` of its own. redlock decides which replica
 * gets one. From then on the owner's monotonic clock decides when it must stop. The time counts from before each extension
 * was sent, so neither a step of a wall clock nor a late reply can make it trust an expired lease. The store refuses a stale
 * owner's writes by op and token.
 */
import type { Redis } from 'ioredis'
import Redlock, { ExecutionError, ResourceLockedError } from 'redlock'
import type { Clock } from '../base/clock.ts'
import { Fenced, RetryLater } from '../base/errors.ts'
import { Loop, type Rest } from '../base/loop.ts'
import type { OwnerStore, Ownership } from '../store/owners.ts'
import type { TaskStore } from '../store/tasks.ts'
import { LockServer } from './lock-server.ts'

/** A lease was lost: it could not be extended, or another replica holds it. */
export class LeaseLost extends Fenced {}

/** A lease that is held until its signal is aborted or it is dropped. */
export interface Lease extends Ownership {
  /** Aborted with `LeaseLost`, or with `Fenced` if the operation was superseded. */
  readonly signal: AbortSignal
  /** @throws {LeaseLost} when it has expired by our own clock, even if no timer has fired yet */
  check(): void
}

/** The lease of a task, kept until its release. It may be lost unnoticed, so every write under it has its token. */
export interface TaskLease {
  readonly token: string
  /** Whether a renewal has found that this token holds it no more. Default: that is not known. */
  readonly isLost?: boolean
  release(): Promise<void>
}

export interface LeasesOptions {
  readonly redis: Redis
  readonly owners: Pick<OwnerStore, 'extend' | 'giveBack'>
  readonly tasks: TaskStore
  /** The key of a subject's lease, by its name. */
  readonly keyOf: (name: string) => string
  readonly clock: Clock
  readonly ttlMs: number
}

/** Parts of the TTL: when to extend, and when to stop if no extension has succeeded. */
const extendEvery = 0.2
const selfStopAfter = 0.66
/** Nobody else does a duty meanwhile, and two who do it do no harm: so its lease is shorter. */
const dutyPart = 1 / 3
const leastDutyMs = 1_000
/** Leases extended by one command. */
const batchSize = 100

const overdue = 'the lease is lost: it could not be extended in time'

class HeldLease implements Lease {
  readonly name: string
  readonly op: number
  readonly token: string
  readonly #clock: Clock
  readonly #controller = new AbortController()
  validUntilMs: number

  constructor(ownership: Ownership, clock: Clock, validUntilMs: number) {
    this.name = ownership.name
    this.op = ownership.op
    this.token = ownership.token
    this.#clock = clock
    this.validUntilMs = validUntilMs
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  check(): void {
    if (this.#clock.monotonicMs() >= this.validUntilMs) this.lose(new LeaseLost(overdue))
    this.signal.throwIfAborted()
  }

  lose(why: Fenced): void {
    this.#controller.abort(why)
  }
}

/** True if another holds the key. redlock also reports a missing quorum when Redis does not answer. */
async function isRefusal(error: unknown): Promise<boolean> {
  if (!(error instanceof ExecutionError)) return false
  const attempts = await Promise.all(error.attempts)
  return attempts.every(({ votesAgainst }) =>
    [...votesAgainst.values()].every(why => why instanceof ResourceLockedError),
  )
}

export class Leases {
  readonly #options: LeasesOptions
  readonly #redlock: Redlock
  readonly #held = new Map<string, HeldLease>()
  readonly #loop: Loop
  /** When all are extended next, by our clock. */
  #extendAtMs: number | undefined
  #extending: Promise<void> | undefined

  constructor(options: LeasesOptions) {
    const { clock } = options
    this.#options = options
    // One loop for all leases. A round throws only by a defect: the process then ends, and other replicas take over.
    const failed = (error: unknown) => {
      throw error
    }
    this.#loop = new Loop({ clock, round: async () => this.#round(), failed })
    this.#redlock = new Redlock([new LockServer(options.redis)], {
      retryCount: 0,
      driftFactor: 0,
      automaticExtensionThreshold: 0,
    })
    // redlock also emits every refusal as an error, but here a refusal is a valid answer.
    this.#redlock.on('error', () => {})
  }

  /** The number of leases held. */
  get size(): number {
    return this.#held.size
  }

  /**
   * Tries once to take the lease of a subject.
   * @returns its token and the time on our clock from which it counts; null when another replica holds it
   */
  async acquire(name: string): Promise<{ token: string; sinceMs: number } | null> {
    return this.#tryOnce(this.#options.keyOf(name), this.#options.ttlMs)
  }

  async #tryOnce(key: string, ttlMs: number): Promise<{ token: string; sinceMs: number } | null> {
    const sinceMs = this.#options.clock.monotonicMs()
    try {
      const lock = await this.#redlock.acquire([key], ttlMs)
      return { token: lock.value, sinceMs }
    } catch (error) {
      if (await isRefusal(error)) return null
      throw new RetryLater('Redis does not answer', undefined, { cause: error })
    }
  }

  /**
   * Takes the lease of a task that belongs to no subject, and renews it until its release; null when another holds it.
   * @param isDuty the next holder comes after a third of the TTL, a second at least, if this one dies
   */
  async acquireTask(key: string, isDuty = false): Promise<TaskLease | null> {
    const { tasks, ttlMs: longestMs, clock } = this.#options
    const ttlMs = isDuty ? Math.max(leastDutyMs, Math.floor(longestMs * dutyPart)) : longestMs
    const taken = await this.#tryOnce(key, ttlMs)
    if (!taken) {
      // If its holder is alive, two replicas do the task once, which does no harm.
      await tasks.free(key, longestMs)
      return null
    }
    const rest: Rest = { ms: ttlMs * extendEvery }
    let isLost = false
    const renew = async () => {
      isLost ||= !(await tasks.renew(key, taken.token, ttlMs))
      return rest
    }
    const loop = new Loop({ clock, round: renew, failed: () => rest })
    loop.start(rest)
    return {
      token: taken.token,
      get isLost() {
        return isLost
      },
      release: async () => {
        // A renewal in flight is not awaited: it will find another token or none.
        void loop.stop()
        await tasks.giveBack(key, taken.token).catch(() => {})
      },
    }
  }

  /** Releases a lease that was not used for a claim. If that fails, the lease expires. */
  async giveBack(name: string, token: string): Promise<void> {
    await this.#options.owners.giveBack(name, token).catch(() => {})
  }

  /** Extends the lease of a claimed operation until it is lost or dropped. */
  keep(ownership: Ownership, sinceMs: number): Lease {
    const lease = new HeldLease(ownership, this.#options.clock, sinceMs + this.#options.ttlMs * selfStopAfter)
    this.#held.set(ownership.name, lease)
    this.#loop.start()
    // Its end may come before the next round.
    this.#loop.wake()
    return lease
  }

  /** Stops extending. The store's scripts release the lease. */
  drop(lease: Lease): void {
    if (this.#held.get(lease.name) === lease) this.#held.delete(lease.name)
  }

  /** Ends the lease of an operation that a newer one has replaced. Only a hint: the store would refuse its writes anyway. */
  superseded(name: string, op: number): void {
    const lease = this.#held.get(name)
    if (!lease || lease.op >= op) return
    this.#held.delete(name)
    lease.lose(new Fenced('the operation was superseded'))
  }

  async close(): Promise<void> {
    await this.#loop.stop()
    await this.#extending
  }

  /** Never waits for an extension, which may hang while a lease expires. */
  #round(): Rest {
    const { clock, ttlMs } = this.#options
    this.#stopOverdue()
    let extendAtMs = this.#extendAtMs ?? clock.monotonicMs() + ttlMs * extendEvery
    if (clock.monotonicMs() >= extendAtMs) {
      extendAtMs = clock.monotonicMs() + ttlMs * extendEvery
      this.#extending ??= this.#extendAll().finally(() => {
        this.#extending = undefined
      })
    }
    this.#extendAtMs = extendAtMs
    const ends = [...this.#held.values()].map(lease => lease.validUntilMs)
    return { ms: Math.min(extendAtMs, ...ends) - clock.monotonicMs() }
  }

  #stopOverdue(): void {
    const now = this.#options.clock.monotonicMs()
    for (const lease of this.#held.values()) {
      if (lease.validUntilMs <= now) this.#lose(lease, overdue)
    }
  }

  async #extendAll(): Promise<void> {
    const leases = [...this.#held.values()]
    for (let i = 0; i < leases.length; i += batchSize) {
      await this.#extend(leases.slice(i, i + batchSize))
    }
  }

  async #extend(leases: readonly HeldLease[]): Promise<void> {
    const sentMs = this.#options.clock.monotonicMs()
    const extended = await this.#options.owners.extend(leases, this.#options.ttlMs).catch(() => null)
    extended?.forEach((held, i) => {
      const lease = leases[i]!
      if (held) lease.validUntilMs = sentMs + this.#options.ttlMs * selfStopAfter
      else this.#lose(lease, 'the lease is lost: another owns the operation')
    })
  }

  #lose(lease: HeldLease, why: string): void {
    if (this.#held.get(lease.name) !== lease) return
    this.#held.delete(lease.name)
    lease.lose(new LeaseLost(why))
  }
}
