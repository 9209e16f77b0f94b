/**
 * Codes that lead from the host of the platform to that of an app. Each can be used once, for a minute, in the browser that began.
 * Redis has their hashes alone, as of ids.
 */
import { z } from 'zod'
import type { Connection } from '../connection.ts'
import type { Keys } from '../keys.ts'
import { hashOf, isHash, newId } from './ids.ts'

/** The terms of a code. */
export interface CodeTerms {
  readonly appId: string
  readonly appUid: string
  readonly loginHash: string
  /** The user of the login. */
  readonly user: string
  /** The hash of the nonce, which the browser has at the host of the app. */
  readonly nonceHash: string
}

/** A browser follows a redirect at once. */
const lifeMs = 60_000

const terms = z.tuple([
  z.string().min(1),
  z.string().min(1),
  z.string().refine(isHash),
  z.string().min(1).max(1_024),
  z.string().refine(isHash),
])

export class CodeStore {
  readonly #connection: Pick<Connection, 'run'>
  readonly #keys: Keys

  constructor(connection: Pick<Connection, 'run'>, keys: Keys) {
    this.#connection = connection
    this.#keys = keys
  }

  /**
   * @returns the code
   * @throws {RetryLater} when Redis does not answer
   */
  async make({ appId, appUid, loginHash, user, nonceHash }: CodeTerms): Promise<string> {
    const code = newId()
    const args = [appId, appUid, loginHash, user, nonceHash, lifeMs]
    await this.#connection.run('make-code', [this.#keys.apps.code(hashOf(code)!)], args)
    return code
  }

  /**
   * Uses a code up, whatever becomes of it.
   * @param token identifies the caller: what it has used is its own when it asks again
   * @returns undefined for one that is none, was used, or is too old
   * @throws {RetryLater} when Redis does not answer
   */
  async use(code: string, token: string): Promise<CodeTerms | undefined> {
    const hash = hashOf(code)
    if (hash === undefined) return undefined
    const found = terms.safeParse(await this.#connection.run('use-code', [this.#keys.apps.code(hash)], [token])).data
    if (!found) return undefined
    const [appId, appUid, loginHash, user, nonceHash] = found
    return { appId, appUid, loginHash, user, nonceHash }
  }
}
