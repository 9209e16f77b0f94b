/**
 * Asks the identity source again about logins that are used: one gateway for all, once in `recheckSeconds`. A request waits for it
 * only where the last word is older than that. While the source is silent, its last word holds for five minutes. It may be silent
 * about one login alone: nobody else waits for that.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { isUnavailable, RetryLater } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { Slots } from '../../base/slots.ts'
import type { LoginStore } from '../../store/apps/logins.ts'
import type { RecheckRight, RecheckStore } from '../../store/apps/rechecks.ts'
import { Kept as Recent } from '../access/kept.ts'
import { type Word, type Words, wordMs } from '../access/words.ts'
import type { Keeper, Kept } from './keeper.ts'
import { Silences } from './silences.ts'
import type { NewWord, WordSource } from './word-source.ts'

/** `silent`: the source does not answer, or another gateway is waiting for it. */
export type RecheckResult = Word | 'silent'

export interface RechecksOptions {
  readonly store: Pick<RecheckStore, 'begin' | 'end' | 'leave'>
  readonly logins: Pick<LoginStore, 'remove'>
  readonly keeper: Pick<Keeper, 'seal' | 'open'>
  readonly source: WordSource
  readonly clock: Clock
  readonly log: Log
  /** `gateway.recheckSeconds`. */
  readonly everyMs: number
  /** Longest time for an answer of the source. */
  readonly answerMs: number
  readonly maxInFlight: number
  /** Told of each question that was asked. */
  readonly onWord: (is: RecheckResult) => void
}

/** At this share of its time a word that is used is asked for again, beside the requests. */
const early = 0.8
const mostKnown = 10_000
const mostWaiting = 2_000
/** Another gateway is asking: how often, and how many times, to look whether it has ended. */
const lookMs = 200
const mostLooks = 15

export class Rechecks implements Words {
  readonly #options: RechecksOptions
  /** By login: the source was asked for its last word no earlier than this, by the monotonic clock. */
  readonly #words = new Recent<number>(mostKnown)
  readonly #asking = new Map<string, Promise<RecheckResult>>()
  readonly #slots: Slots
  readonly #silences: Silences

  constructor(options: RechecksOptions) {
    this.#options = options
    this.#silences = new Silences(options.clock, mostKnown)
    this.#slots = new Slots(options.maxInFlight, { maxWaiting: mostWaiting })
  }

  isFresh(loginHash: string): boolean {
    return this.#ageOf(loginHash) <= this.#options.everyMs
  }

  isTooOld(loginHash: string): boolean {
    const ageMs = this.#ageOf(loginHash)
    return Number.isFinite(ageMs) && ageMs > wordMs
  }

  note(loginHash: string): void {
    const ageMs = this.#ageOf(loginHash)
    if (ageMs <= this.#options.everyMs * early || (this.#silences.isPaused(loginHash) && Number.isFinite(ageMs))) return
    this.#ask(loginHash).catch(() => {})
  }

  async ask(loginHash: string): Promise<Word> {
    // A source that hangs must not make each request wait for it.
    if (this.#silences.isSilent(loginHash) && this.#ageOf(loginHash) <= wordMs) {
      this.note(loginHash)
      return 'same'
    }
    const is = await this.#ask(loginHash)
    if (is !== 'silent') return is
    if (this.#ageOf(loginHash) > wordMs) throw new RetryLater('the identity provider does not answer')
    return 'same'
  }

  /** Waits for what is being asked: a token that has come must not be lost. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#asking.values()])
  }

  #ask(hash: string): Promise<RecheckResult> {
    const asking = this.#asking.get(hash) ?? this.#begin(hash).finally(() => this.#asking.delete(hash))
    this.#asking.set(hash, asking)
    return asking
  }

  async #begin(hash: string): Promise<RecheckResult> {
    try {
      // Before the right is taken, which lasts for one question.
      await this.#slots.enter()
    } catch {
      return 'silent'
    }
    try {
      return await this.#look(hash)
    } finally {
      this.#slots.leave()
    }
  }

  async #look(hash: string): Promise<RecheckResult> {
    const { store, clock, everyMs } = this.#options
    const token = randomUUID()
    for (let look = 1; look <= mostLooks; look++) {
      const startMs = this.#nowMs
      // While it is paused, only the age is asked for.
      const terms = {
        everyMs: this.#silences.isPaused(hash) ? Number.MAX_SAFE_INTEGER : everyMs * early,
        lockMs: this.#lockMs,
      }
      const right = await store.begin(hash, token, terms)
      if (right.is === 'gone') return this.#ended(hash)
      this.#learn(hash, startMs - right.ageMs)
      if (right.is === 'ask') {
        const is = await this.#turn({ hash, token, right, startMs })
        if (is !== 'late') return is
        continue
      }
      // Another gateway may have heard something new.
      if (right.is === 'fresh') return right.ageMs > everyMs ? 'silent' : 'changed'
      await clock.sleep(lookMs)
    }
    return 'silent'
  }

  /** This gateway alone may ask. */
  async #turn(turn: Turn): Promise<RecheckResult | 'late'> {
    let is: RecheckResult | 'late' = 'silent'
    try {
      is = await this.#answered(turn)
    } finally {
      this.#options.onWord(is === 'late' ? 'changed' : is)
      // Else it ends by itself.
      if (is === 'silent') await this.#options.store.leave(turn.hash, turn.token).catch(() => {})
    }
    return is
  }

  async #answered({ hash, token, right, startMs }: Turn): Promise<RecheckResult | 'late'> {
    const { keeper, logins, log } = this.#options
    let former: Kept
    try {
      former = keeper.open(right.sealed, hash)
    } catch (error) {
      log.error({ err: error }, 'what a login keeps cannot be opened: do all gateways have the same gateway.keyFiles?')
      return 'silent'
    }
    // This process was halted: another one may be using the token by now.
    if (this.#nowMs - startMs > this.#lockMs / 2) return 'silent'
    const word = await this.#heard(hash, former, right.user)
    if (word === 'silent') return word
    if (word !== 'ended') return this.#keep({ hash, token, right, startMs }, word)
    await logins.remove(hash)
    return this.#ended(hash)
  }

  async #heard(hash: string, former: Kept, user: string): Promise<NewWord | 'ended' | 'silent'> {
    try {
      const word = await this.#options.source.again(former, user)
      this.#silences.answered(hash)
      return word
    } catch (error) {
      if (!isUnavailable(error)) this.#options.log.error({ err: error }, 'a login could not be asked about')
      this.#silences.failed(hash, error)
      return 'silent'
    }
  }

  /** @returns 'late' where another gateway has asked meanwhile, so that nobody knows which word is newer */
  async #keep({ hash, token, right, startMs }: Turn, word: NewWord): Promise<RecheckResult | 'late'> {
    const { keeper, store, clock, log } = this.#options
    const isSame = sameNames(word.groups, right.groups)
    const sealed = keeper.seal(word.kept, hash)
    const groups = isSame ? undefined : word.groups
    for (;;) {
      try {
        const agoMs = this.#nowMs - startMs
        if (!(await store.end({ token, hash, was: right.sealed, sealed, groups, agoMs }))) return 'late'
        this.#learn(hash, startMs)
        return isSame ? 'same' : 'changed'
      } catch (error) {
        // The former token is void at most sources: without this one the login would be lost.
        if (!(error instanceof RetryLater) || this.#nowMs - startMs > this.#lockMs) {
          log.warn({}, 'what the identity provider said of a login could not be kept: the login may end')
          throw error
        }
      }
      await clock.sleep(lookMs)
    }
  }

  #ended(hash: string): 'ended' {
    this.#words.delete(hash)
    return 'ended'
  }

  #learn(hash: string, atMs: number): void {
    this.#words.set(hash, Math.max(atMs, this.#words.get(hash) ?? atMs))
  }

  /** Infinite for a login of which nothing is known here. */
  #ageOf(hash: string): number {
    return this.#nowMs - (this.#words.get(hash) ?? Number.NEGATIVE_INFINITY)
  }

  /** Longer than the source may take, with all its requests. */
  get #lockMs(): number {
    return 2 * this.#options.answerMs + 5_000
  }

  get #nowMs(): number {
    return this.#options.clock.monotonicMs()
  }
}

interface Turn {
  readonly hash: string
  readonly token: string
  readonly right: RecheckRight
  readonly startMs: number
}

const sameNames = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && JSON.stringify([...one].sort()) === JSON.stringify([...other].sort())
