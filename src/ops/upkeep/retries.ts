/** Work that is due now or later, and is tried again while Redis or the API server is silent or refuses. */
import type { Clock } from '../../base/clock.ts'
import { RetryLater } from '../../base/errors.ts'
import { Later } from '../../base/later.ts'
import { inOperatorsWords, KubeError } from '../../kube/client.ts'
import type { Logger } from '../../telemetry/log.ts'
import { Rarely } from '../../telemetry/rarely.ts'

/** Longest pauses between retries, when Redis or the API server is silent or refuses. A refusal does not pass soon. */
const againCapMs = { silence: 5_000, refusal: 30_000 }
const firstPauseMs = 250

export class Retries {
  readonly #log: Logger
  readonly #later: Later
  readonly #refusals: Rarely
  #stopped = false

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#log = log
    this.#later = new Later(clock)
    const words = { trouble: 'labs cannot be monitored', over: 'labs can be monitored again' }
    this.#refusals = new Rarely({ clock, log, ...words })
  }

  stop(): void {
    this.#stopped = true
    void this.#later.stop()
  }

  /** Does something that does not fail, up to 100 ms later than asked for. */
  after(ms: number, work: () => void): void {
    this.#later.after(ms, work)
  }

  /** Does something that may fail. It is tried again after a silence or a refusal, with longer and longer pauses. */
  run(work: () => Promise<void>, afterMs?: number): void {
    if (afterMs === undefined) this.#try(work, firstPauseMs)
    else this.#later.after(afterMs, () => this.#try(work, firstPauseMs))
  }

  #try(work: () => Promise<void>, pauseMs: number): void {
    const again = (capMs: number) => this.#later.after(pauseMs, () => this.#try(work, Math.min(pauseMs * 2, capMs)))
    work().then(
      () => this.#refusals.worked(),
      error => {
        if (this.#stopped) return
        if (error instanceof RetryLater) return again(againCapMs.silence)
        if (!(error instanceof KubeError))
          return this.#log.warn({ reason: (error as Error).message }, 'a judgement failed')
        this.#refusals.failed(inOperatorsWords(error))
        again(againCapMs.refusal)
      },
    )
  }
}
