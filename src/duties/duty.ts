/**
 * What one replica at a time does, by lease. Each replica has the loop; whoever finds something to do in a round takes the
 * lease, for this round or for as long as it can. Two do no harm: what is written under the lease bears its token.
 */
import type { Clock } from '../base/clock.ts'
import { Loop, type Rest } from '../base/loop.ts'
import type { Leases, TaskLease } from '../leases/leases.ts'

/** How long nothing is done after a round. */
export interface DutyRest extends Rest {
  /** Whether the lease is kept meanwhile. Default: it is given back. */
  readonly keep?: boolean
}

/** Takes the lease, or has it still: its token, or null where another replica holds it. */
export type Take = () => Promise<string | null>

export interface DutyOptions {
  readonly clock: Clock
  readonly leases: Pick<Leases, 'acquireTask'>
  /** Key of its lease. */
  readonly lease: string
  readonly round: (take: Take) => Promise<DutyRest>
  /** Told of each round that failed, but for those that `stop` ended, when the lease was given back. */
  readonly failed: (error: unknown, failures: number) => Rest
  /** Called before the lease is given back. */
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

  /** Has a round begin soon. */
  wake(): void {
    this.#loop.wake()
  }

  /** Awaits the round in progress, which hears of it by the signal, and gives the lease back. */
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
    this.#held ??= await leases.acquireTask(lease)
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
