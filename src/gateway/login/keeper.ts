/** Keeps what a login needs of its identity source, such as a refresh token, so that only gateways can read it. */
import { z } from 'zod'
import type { Sealer } from '../../store/sealing.ts'

/** The record of a login beside its person. */
export interface Kept {
  /** By which the source is asked again: a refresh token, or Gafaelfawr's. */
  readonly token: string
  /** The subject of the person at the source, where it has one beside the name. */
  readonly subject?: string | undefined
  /** Scopes that the source has granted, where it says so only once. */
  readonly scope?: string | undefined
}

const name = 'gateway login'
const schema = z.object({
  token: z.string(),
  subject: z.string().optional(),
  scope: z.string().optional(),
})

export class Keeper {
  readonly #sealer: Pick<Sealer, 'seal' | 'open'>

  constructor(sealer: Pick<Sealer, 'seal' | 'open'>) {
    this.#sealer = sealer
  }

  /** @param hash of the login: it opens only for this one */
  seal(kept: Kept, hash: string): string {
    return this.#sealer.seal(JSON.stringify(kept), name, hash)
  }

  /** @throws {NeedsSomeone} where it was sealed by a key that this replica does not have, or for another login */
  open(sealed: string, hash: string): Kept {
    return schema.parse(JSON.parse(this.#sealer.open(sealed, name, hash)))
  }
}
