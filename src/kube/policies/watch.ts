/** Checks admission policies on an interval, and logs changes. */
import type { Clock } from '../../base/clock.ts'
import { jittered, Loop, type Rest } from '../../base/loop.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import type { Log } from '../client.ts'
import type { PolicyAnswer } from './probes.ts'

/** Texts for operators. */
export interface PolicyWords {
  /** While there was no answer yet. */
  readonly unknown: string
  readonly notActive: string
  readonly active: string
  /** The policies refuse what they should admit. */
  readonly refuses: string
  readonly later: string
  /** Advice about missing rights. */
  readonly remedy: string
}

/**
 * The words about the one policy of a feature.
 * @param file where its policy is
 */
export const wordsOfPolicy = (feature: string, file: string): PolicyWords => ({
  unknown: `an answer about the admission policy of ${feature}`,
  notActive: `the admission policy of ${feature} is not at work: apply ${file}`,
  active: `the admission policy of ${feature} is at work`,
  refuses: `the admission policy of ${feature} refuses what it should admit`,
  later: `the admission policy of ${feature} is asked for later`,
  remedy: `apply ${file}`,
})

export interface AdmissionWatchOptions {
  /** @throws {RetryLater} when the API server does not answer */
  readonly ask: (signal: AbortSignal) => Promise<PolicyAnswer>
  readonly words: PolicyWords
  readonly clock: Clock
  readonly log: Log
  readonly intervalMs: number
  /** True if nothing must be made without the policies. */
  readonly required: boolean
  readonly onAnswer?: (answer: PolicyAnswer, before: PolicyAnswer | undefined) => void
}

/** The pause between checks while something required is missing. */
export const missingMs = 2_000
/** A refusal lasts if a check finds it again after this time. An API server that starts knows neither rights nor policies. */
export const lastingMs = 3_000
/** The interval varies by this share, so that replicas do not ask in step. */
const jitter = 0.1

export class AdmissionWatch {
  readonly #options: AdmissionWatchOptions
  readonly #loop: Loop
  readonly #lacking: Rarely
  #askedMs = Number.NEGATIVE_INFINITY
  #answer: PolicyAnswer | undefined
  /** When the first of the refusals in a row was found. */
  #refusedSinceMs: number | undefined
  #isLasting = false

  constructor(options: AdmissionWatchOptions) {
    const { clock, log, words } = options
    this.#options = options
    this.#loop = new Loop({
      clock,
      round: () => this.#round(),
      failed: error => {
        log.debug({ reason: (error as Error).message }, words.later)
        return this.#rest()
      },
    })
    this.#lacking = new Rarely({ clock, log, trouble: 'rights are missing', over: 'no right is missing any more' })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
  }

  /** Checks soon, after a request was refused for a missing right, unless a check was just made. */
  wake(): void {
    if (this.#options.clock.monotonicMs() - this.#askedMs >= missingMs) this.#loop.wake()
  }

  /** Whether there was an answer at all. */
  get answered(): boolean {
    return this.#answer !== undefined
  }

  /** Whether all policies were in force at the last check; undefined if that is not known. */
  get active(): boolean | undefined {
    return this.#answer?.active ?? undefined
  }

  /** Why nothing may be made now, in words; undefined if nothing prevents it. */
  get refusal(): string | undefined {
    const { required, words } = this.#options
    if (!required) return undefined
    if (this.#answer === undefined) return words.unknown
    const { active, reason } = this.#answer
    if (reason === null) return undefined
    return active === false ? `${words.notActive} (${reason})` : reason
  }

  /** As `refusal`, once it lasts. */
  get lastingRefusal(): string | undefined {
    return this.#isLasting ? this.refusal : undefined
  }

  /** Rights that the account lacked at the last check, in words. */
  get lacking(): readonly string[] {
    return this.#answer?.missing ?? []
  }

  #rest(): Rest {
    const { intervalMs } = this.#options
    const isWell = this.refusal === undefined && this.lacking.length === 0
    return { ms: jittered(isWell ? intervalMs : Math.min(missingMs, intervalMs), jitter) }
  }

  async #round(): Promise<Rest> {
    const { clock, ask, words, onAnswer } = this.#options
    this.#askedMs = clock.monotonicMs()
    const answer = await ask(this.#loop.signal)
    const before = this.#answer
    this.#answer = answer
    this.#time()
    if (isWithoutRights(answer)) {
      this.#lacking.failed(lackingWords(answer, words), { missing: answer.missing, remedy: words.remedy })
    } else this.#lacking.worked()
    onAnswer?.(answer, before)
    this.#report(answer, before)
    return this.#rest()
  }

  #time(): void {
    const nowMs = this.#options.clock.monotonicMs()
    this.#refusedSinceMs = this.refusal === undefined ? undefined : (this.#refusedSinceMs ?? nowMs)
    this.#isLasting = this.#refusedSinceMs !== undefined && nowMs >= this.#refusedSinceMs + lastingMs
  }

  #report(answer: PolicyAnswer, before: PolicyAnswer | undefined): void {
    const { log, words } = this.#options
    const { active, reason } = answer
    // Without the rights the state of the policies is unknown.
    if (active === null) return
    if (before && before.active === active && (before.reason === null) === (reason === null)) return
    if (!active) log.warn({ reason }, words.notActive)
    else if (reason !== null) log.error({ reason }, words.refuses)
    else log.info({}, words.active)
  }
}

export const isWithoutRights = ({ active, missing }: PolicyAnswer): boolean => active === null || missing.length > 0

const lackingWords = ({ active, reason, missing }: PolicyAnswer, { remedy }: PolicyWords): string =>
  active === null ? `${reason}` : `${listed(missing)}: ${remedy}`

/** Lists at most `maxListed` rights: when all are missing the list would be very long. */
export const listed = (rights: readonly string[]): string =>
  rights.length > maxListed
    ? `${rights.slice(0, maxListed).join(', ')} and ${rights.length - maxListed} more`
    : rights.join(', ')
const maxListed = 8
