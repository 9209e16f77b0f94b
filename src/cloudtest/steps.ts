/** Steps of a test: each is timed and reported as it goes, and ends the test where it fails. */
import { type Backoff, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'

export interface StepReport {
  readonly step: string
  readonly ok: boolean
  readonly ms: number
  /** What it found, or why it failed. */
  readonly words: string
}

export interface StepsOptions {
  readonly clock: Clock
  readonly onBegin: (step: string) => void
  /** Called with the cause for which a step waits; the same words are reported once. */
  readonly onNews: (step: string, words: string) => void
  readonly onEnd: (report: StepReport) => void
}

/** A step has failed, and is in the report. */
export class StepFailed extends Error {
  override readonly name = 'StepFailed'
}

/** A later attempt may succeed. */
export class NotYet extends Error {
  override readonly name = 'NotYet'
}

const backoff: Backoff = { baseMs: 500, capMs: 10_000 }

export class Steps {
  readonly reports: StepReport[] = []
  readonly #options: StepsOptions
  #step = ''
  #news = ''

  constructor(options: StepsOptions) {
    this.#options = options
  }

  /** @param tell says of the outcome what the report has. @throws {StepFailed} where the work throws */
  async run<T>(step: string, work: () => Promise<T>, tell: (outcome: T) => string): Promise<T> {
    const { clock, onBegin } = this.#options
    this.#step = step
    this.#news = ''
    onBegin(step)
    const begunMs = clock.monotonicMs()
    const end = (ok: boolean, words: string) =>
      this.#end({ step, ok, ms: Math.round(clock.monotonicMs() - begunMs), words })
    try {
      const outcome = await work()
      end(true, tell(outcome))
      return outcome
    } catch (error) {
      end(false, (error as Error).message)
      throw new StepFailed((error as Error).message)
    }
  }

  news(words: string): void {
    if (words === this.#news) return
    this.#news = words
    this.#options.onNews(this.#step, words)
  }

  /**
   * Tries until it succeeds, longer apart each time.
   * @throws the last reason at the deadline, by the clock's monotonic time; what `isPassing` does not take, at once
   */
  async until<T>(
    untilMs: number,
    signal: AbortSignal,
    isPassing: (error: unknown) => boolean,
    attempt: () => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options
    for (let failures = 1; ; failures += 1) {
      try {
        signal.throwIfAborted()
        return await attempt()
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (!isPassing(error)) throw error
        const restMs = untilMs - clock.monotonicMs()
        if (restMs <= 0) throw new Error(`it took too long: ${(error as Error).message}`)
        this.news((error as Error).message)
        await clock.sleep(Math.min(restMs, backoffMs(failures, backoff)), signal)
      }
    }
  }

  #end(report: StepReport): void {
    this.reports.push(report)
    this.#options.onEnd(report)
  }
}
