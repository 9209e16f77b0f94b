/**
 * Whether sessions hold, as Redis said at most 5 s ago. Questions of one turn of the event loop go together. A revocation
 * makes void what is known, and what is being asked: an answer that was on its way may be older than it.
 */
import type { Clock } from '../../base/clock.ts'
import type { Soon } from '../../base/soon.ts'
import type { SessionClaim, SessionFinding, SessionStore } from '../../store/apps/sessions.ts'

/** How long a verdict holds. */
export const holdMs = 5_000
/** Older ones are no answer, but may have been given as one a moment ago: a ring makes them void too. */
const keepMs = 2 * holdMs
/** How long what is open may stay while Redis does not answer. */
export const awayMs = 60_000
const mostKept = 20_000

/** A claim that comes again and again has its key. */
export interface KeyedClaim extends SessionClaim {
  /** By `keyOf`. */
  readonly key: string
}

/** A session that was found to hold. */
export interface Seen {
  readonly claim: SessionClaim
  /** The key of the claim. */
  readonly key: string
  /** Before the question was sent, by the monotonic clock. */
  readonly atMs: number
  /** It was revoked since, or may have been: it must be looked at again. */
  isVoid: boolean
}

export type CheckFinding = Pick<SessionFinding, 'version'> &
  ({ readonly is: 'in'; readonly seen: Seen } | { readonly is: 'session' | 'login' })

interface Question {
  readonly claim: SessionClaim
  readonly answer: PromiseWithResolvers<CheckFinding>
  isVoid: boolean
}

type Kept = Extract<CheckFinding, { is: 'in' }>

export interface ChecksOptions {
  readonly sessions: Pick<SessionStore, 'check'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Gets the number of sessions in each question to Redis. */
  readonly onAsk?: ((sessions: number) => void) | undefined
}

export class SessionChecks {
  readonly #options: ChecksOptions
  /** By key, in the order of their looks. */
  readonly #kept = new Map<string, Kept>()
  readonly #asked = new Map<string, Question>()
  #isDue = false

  constructor(options: ChecksOptions) {
    this.#options = options
  }

  /**
   * Looks whether a session holds, by an answer of Redis that is at most 5 s old: at once where there is one.
   * @throws {RetryLater} when Redis does not answer
   */
  check(claim: SessionClaim | KeyedClaim): Soon<CheckFinding> {
    const key = 'key' in claim ? claim.key : keyOf(claim)
    const kept = this.#kept.get(key)
    const nowMs = this.#options.clock.monotonicMs()
    // The user is not in the key: a claim of another user must not be answered by this.
    if (kept && nowMs - kept.seen.atMs <= holdMs && kept.seen.claim.user === claim.user) return kept
    return this.#ask(key, claim)
  }

  /** Makes void what is known of some sessions; without a test, of all. */
  forget(isMeant: (claim: SessionClaim) => boolean = () => true): void {
    for (const [key, { seen }] of this.#kept) {
      if (!isMeant(seen.claim)) continue
      seen.isVoid = true
      this.#kept.delete(key)
    }
    for (const question of this.#asked.values()) if (isMeant(question.claim)) question.isVoid = true
  }

  #ask(key: string, claim: SessionClaim): Promise<CheckFinding> {
    const asked = this.#asked.get(key)
    if (asked?.claim.user === claim.user) return asked.answer.promise
    const question: Question = { claim, answer: Promise.withResolvers(), isVoid: false }
    this.#asked.set(key, question)
    this.#queue.push([key, question])
    if (!this.#isDue) {
      this.#isDue = true
      setImmediate(() => void this.#send())
    }
    return question.answer.promise
  }

  #queue: [key: string, question: Question][] = []

  async #send(): Promise<void> {
    this.#isDue = false
    const questions = this.#queue
    this.#queue = []
    const { sessions, clock, onAsk } = this.#options
    const atMs = clock.monotonicMs()
    onAsk?.(questions.length)
    try {
      const findings = await sessions.check(questions.map(([, { claim }]) => claim))
      for (const [i, [key, question]] of questions.entries()) this.#answered(key, question, atMs, findings[i]!)
    } catch (error) {
      for (const [key, question] of questions) {
        this.#leave(key, question)
        question.answer.reject(error)
      }
    }
  }

  #answered(key: string, question: Question, atMs: number, { is, version }: SessionFinding): void {
    this.#leave(key, question)
    const { claim, answer } = question
    // No answer from before a revocation lets anybody in.
    if (question.isVoid && is === 'in') {
      answer.resolve(this.#ask(key, claim))
      return
    }
    if (is !== 'in') {
      answer.resolve({ is, version })
      return
    }
    const kept: Kept = { is, seen: { claim, key, atMs, isVoid: false }, version }
    this.#keep(key, kept)
    answer.resolve(kept)
  }

  #leave(key: string, question: Question): void {
    if (this.#asked.get(key) === question) this.#asked.delete(key)
  }

  #keep(key: string, kept: Kept): void {
    this.#kept.delete(key)
    this.#kept.set(key, kept)
    const oldestMs = kept.seen.atMs - keepMs
    for (const [other, { seen }] of this.#kept) {
      if (seen.atMs >= oldestMs && this.#kept.size <= mostKept) return
      this.#kept.delete(other)
    }
  }
}

/** The parts of a claim that must agree. */
export const keyOf = ({ sessionHash, loginHash, appUid, appId }: Omit<SessionClaim, 'user'>): string =>
  `${sessionHash} ${loginHash} ${appUid} ${appId}`

/** Whether what was found by a look still holds. Where Redis did not answer a moment ago, it holds longer. */
export const holds = (lookedMs: number, failedMs: number, nowMs: number): boolean =>
  nowMs - lookedMs <= holdMs || (nowMs - failedMs <= holdMs && nowMs - lookedMs <= awayMs)
