/**
 * The last answers of the identity source about logins. One gateway at a time asks about a login: refresh tokens rotate, and one
 * that is used twice is void at many sources, with all that came of it.
 */
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'

export interface RecheckTerms {
  /** A younger word is not asked for again. */
  readonly everyMs: number
  /** How long nobody else may ask. */
  readonly lockMs: number
}

/** The right to ask about a login. */
export interface RecheckRight {
  readonly is: 'ask'
  /** The age of the last word. */
  readonly ageMs: number
  readonly user: string
  readonly groups: readonly string[]
  readonly sealed: string
}

/** `busy`: another gateway is asking; `gone`: there is no such login. */
export type RecheckAnswer =
  | RecheckRight
  | { readonly is: 'fresh' | 'busy'; readonly ageMs: number }
  | { readonly is: 'gone' }

export interface RecheckResult {
  /** By which the right was taken. */
  readonly token: string
  readonly hash: string
  /** `sealed` of the right. */
  readonly was: string
  readonly sealed: string
  /** Absent: the same as before. */
  readonly groups?: readonly string[] | undefined
  /** Since the source was asked. */
  readonly agoMs: number
}

const age = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number)
const rights = z.tuple([
  z.literal('ask'),
  age,
  z.string(),
  z.string().transform(parseJson).pipe(z.array(z.string())),
  z.string(),
])

export class RecheckStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * @param token identifies the caller, and this question
   * @throws {RetryLater} when Redis does not answer
   */
  async begin(hash: string, token: string, { everyMs, lockMs }: RecheckTerms): Promise<RecheckAnswer> {
    const { apps } = this.#keys
    const args = [token, Math.floor(everyMs), Math.floor(lockMs)]
    const answer = (await this.#connection.run(
      'begin-recheck',
      [apps.login(hash), apps.asking(hash)],
      args,
    )) as string[]
    const [is, ageMs] = answer
    if (is === 'fresh' || is === 'busy') return { is, ageMs: Number(ageMs) }
    const right = rights.safeParse(answer).data
    // A login that cannot be read lets nobody in either.
    if (!right) return { is: 'gone' }
    const [, old, user, groups, sealed] = right
    return { is: 'ask', ageMs: old, user, groups, sealed }
  }

  /**
   * @returns false if this word is not written: the login is gone, has other tokens, or another one may ask; or it was there before
   * @throws {RetryLater} when Redis does not answer
   */
  async end({ token, hash, was, sealed, groups, agoMs }: RecheckResult): Promise<boolean> {
    const { apps } = this.#keys
    const keys = [apps.login(hash), apps.asking(hash), apps.bell]
    const named = groups === undefined ? '' : JSON.stringify(groups)
    const args = [token, hash, was, sealed, named, Math.max(0, Math.floor(agoMs))]
    return (await this.#connection.run('end-recheck', keys, args)) === 1
  }

  /**
   * Gives the right back: nothing was learned.
   * @throws {RetryLater} when Redis does not answer
   */
  async leave(hash: string, token: string): Promise<void> {
    await this.#connection.run('return-lease', [this.#keys.apps.asking(hash)], [token])
  }

  /**
   * @param hash of something that can be used once
   * @returns whether this caller is the first
   * @throws {RetryLater} when Redis does not answer
   */
  async useOnce(hash: string, token: string, keepMs: number): Promise<boolean> {
    return (await this.#connection.run('use-once', [this.#keys.apps.used(hash)], [token, Math.floor(keepMs)])) === 1
  }
}
