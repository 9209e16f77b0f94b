/** Keeps what a login needs of its identity source, such as a refresh token, so that only gateways can read it. */
import { z } from 'zod'
import type { Sealer } from '../../store/sealing.ts'

/** What is kept of a login beside its person. */
export interface Kept {
  /** By which the source is asked again: a refresh token, or Gafaelfawr's. */
  readonly token: string
  /** Of the person at the source, where it has one beside the name. */
  readonly subject?: string | undefined
  /** Scopes that the source has granted, where it says so only once. */
  readonly scope?: string | undefined
  /** The last ID token, by which the source ends its own session. */
  readonly idToken?: string | undefined
}

const name = 'gateway login'
const schema = z.object({
  token: z.string(),
  subject: z.string().optional(),
  scope: z.string().optional(),
  idToken: z.string().optional(),
})

/** An ID token that is longer is not kept: Redis has each for 12 hours, and the issuer asks instead. */
const longestIdToken = 8_192

export class Keeper {
  readonly #sealer: Pick<Sealer, 'seal' | 'open'>

  constructor(sealer: Pick<Sealer, 'seal' | 'open'>) {
    this.#sealer = sealer
  }

  /** @param hash of the login: it opens only for this one */
  seal(kept: Kept, hash: string): string {
    const { idToken, ...rest } = kept
    const isShort = idToken !== undefined && idToken.length <= longestIdToken
    return this.#sealer.seal(JSON.stringify({ ...rest, ...(isShort && { idToken }) }), name, hash)
  }

  /** @throws {NeedsSomeone} where it was sealed by a key that this replica does not have, or for another login */
  open(sealed: string, hash: string): Kept {
    return schema.parse(JSON.parse(this.#sealer.open(sealed, name, hash)))
  }
}
