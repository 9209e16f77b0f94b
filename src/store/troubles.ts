/** What Redis says that only a person can put right: told once in a while, in words, and never a failure by itself. */
import type { Clock } from '../clock.ts'
import { codeOf, meaningOf } from './replies.ts'
import { noCluster } from './server.ts'

/** How long the same trouble is not told again. */
const silentMs = 60_000
/** How long a reply of a Redis Cluster counts: replicas ask for something every second. */
const clusterMs = 5_000

export class Troubles {
  readonly #clock: Clock
  readonly #onTrouble: (words: string) => void
  readonly #silentUntilMs = new Map<string, number>()
  #clusterUntilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, onTrouble: (words: string) => void) {
    this.#clock = clock
    this.#onTrouble = onTrouble
  }

  /** Whether a reply of a Redis Cluster has come just now. */
  get cluster(): boolean {
    return this.#clock.monotonicMs() < this.#clusterUntilMs
  }

  /** Takes note of what came instead of an answer. */
  note(error: unknown): void {
    const meaning = meaningOf(error)
    if (meaning === 'cluster') {
      this.#clusterUntilMs = this.#clock.monotonicMs() + clusterMs
      this.tell(noCluster)
    } else if (meaning === 'someone') this.tell((error as Error).message, codeOf(error))
  }

  /** @param kind by which the same is known, where words differ each time */
  tell(words: string, kind = words): void {
    const now = this.#clock.monotonicMs()
    if (now < (this.#silentUntilMs.get(kind) ?? Number.NEGATIVE_INFINITY)) return
    this.#silentUntilMs.set(kind, now + silentMs)
    this.#onTrouble(words)
  }
}
