/**
 * A duty: work for one replica at a time, by lease. Each replica runs the loop. A replica that finds work in a round takes
 * the lease, for this round or for as long as it can. Two replicas do no harm: every write under the lease has its token.
 */
import type { Clock } from '../base/clock.ts'
import { Loop, type Rest } from '../base/loop.ts'
import type { Leases, TaskLease } from '../leases/leases.ts'

/** The rest after a round. */
export interface DutyRest extends Rest {
  /** True to keep the lease meanwhile. Default: it is released. */
  readonly keep?: boolean
}

/** Takes the lease unless it is already held. Returns its token, or null if another replica holds it. */
export type Take = () => Promise<string | null>

export interface DutyOptions {
  readonly clock: Clock
  readonly leases: Pick<Leases, 'acquireTask'>
  /** Key of the lease. */
  readonly lease: string
  readonly round: (take: Take) => Promise<DutyRest>
  /** Called after each failed round, once the lease is released, except for rounds that `stop` ended. */
  readonly failed: (error: unknown, failures: number) => Rest
  /** Called before the lease is released. */
  readonly onEnd?: () => void
}

export class Duty {
  readonly #options: DutyOptions
  readonly #loop: Loop
  #held: TaskLease | null = null

  constructor(options: DutyOptions) {
    const { clock, failed } = options
    this.#options = options
    this.#loop = new Loop({ clock, round: () => this.#round(), failed })
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.#loop.signal
  }

  start(): void {
    this.#loop.start()
  }

  /** Makes a round begin soon. */
  wake(): void {
    this.#loop.wake()
  }

  /** Aborts the signal, awaits the round in progress, and releases the lease. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    await this.#giveBack()
  }

  async #round(): Promise<Rest> {
    const { round } = this.#options
    let keep = false
    try {
      const rest = await round(() => this.#take())
      keep = rest.keep ?? false
      return rest
    } finally {
      if (!keep) await this.#giveBack()
    }
  }

  async #take(): Promise<string | null> {
    const { leases, lease } = this.#options
    // A process that was halted lost it. Whoever kept it so would write nothing any more.
    if (this.#held?.isLost) await this.#giveBack()
    this.#held ??= await leases.acquireTask(lease, true)
    return this.#held?.token ?? null
  }

  async #giveBack(): Promise<void> {
    const held = this.#held
    if (!held) return
    this.#held = null
    this.#options.onEnd?.()
    await held.release()
  }
}
