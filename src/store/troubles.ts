/** Logs, once in a while, replies of Redis that only a person can put right. They are never failures by themselves. */
import type { Clock } from '../base/clock.ts'
import { inFull, type ReasonHints, reasonOf } from '../base/reasons.ts'
import { Rarely, type RarelyOptions } from '../telemetry/rarely.ts'
import { codeOf, meaningOf } from './replies.ts'
import { noCluster } from './server.ts'

/** How long a reply of a Redis Cluster counts: replicas send commands every second. */
const clusterMs = 5_000

export class Troubles {
  readonly #clock: Clock
  readonly #hints: ReasonHints
  readonly #rarely: Rarely
  #clusterUntilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, log: RarelyOptions['log'], hints: ReasonHints) {
    this.#clock = clock
    this.#hints = hints
    // The end is never reported, since other commands succeed meanwhile.
    this.#rarely = new Rarely({ clock, log, trouble: 'Redis refuses commands', over: '' })
  }

  /** True shortly after a reply of a Redis Cluster. */
  get cluster(): boolean {
    return this.#clock.monotonicMs() < this.#clusterUntilMs
  }

  /** Notes an error that came instead of an answer. */
  note(error: unknown): void {
    const meaning = meaningOf(error)
    if (meaning === 'cluster') {
      this.#clusterUntilMs = this.#clock.monotonicMs() + clusterMs
      this.#rarely.failed(noCluster)
    } else if (meaning === 'someone') {
      this.#rarely.failed(inFull(reasonOf(error, this.#hints)), {}, codeOf(error))
    }
  }
}
