/** Makes an identity from an issuer's claims, and asks it about a login again. */
import { ApiError } from '../../base/errors.ts'
import type { OidcConfig } from '../../config/identity.ts'
import { identityFromClaims } from '../../identity/claims.ts'
import { appScope } from '../access/scope.ts'
import type { Kept } from './keeper.ts'
import { Denied, type OpenIdClient, type Told } from './openid.ts'
import type { NewWord, WordSource } from './word-source.ts'

/** @param former what was kept before; a token that was not replaced holds on */
export const keptOf = ({ refreshToken, subject, scope }: Told, former?: Kept): Kept => ({
  token: refreshToken ?? former?.token ?? '',
  subject,
  scope: scope ?? former?.scope,
})

/** @throws {ApiError} 403 for a claim that cannot be used */
export const identityOf = ({ claims }: Told, { scope }: Kept, issuer: Pick<OidcConfig, 'claims' | 'groupScopes'>) =>
  identityFromClaims({ ...(scope !== undefined && { scope }), ...claims }, issuer)

export class OidcWords implements WordSource {
  readonly #client: Pick<OpenIdClient, 'again'>
  readonly #issuer: Pick<OidcConfig, 'claims' | 'groupScopes'>

  constructor(client: Pick<OpenIdClient, 'again'>, issuer: Pick<OidcConfig, 'claims' | 'groupScopes'>) {
    this.#client = client
    this.#issuer = issuer
  }

  async again(former: Kept, user: string): Promise<NewWord | 'ended'> {
    try {
      const told = await this.#client.again(former.token, former.subject ?? '')
      const kept = keptOf(told, former)
      const { username, groups, scopes } = identityOf(told, kept, this.#issuer)
      const isSame = username === user && told.subject === former.subject
      return isSame && scopes.includes(appScope) ? { groups: groups.map(({ name }) => name), kept } : 'ended'
    } catch (error) {
      // The token is used up by then, so a person with a claim that cannot be used logs in again.
      if (error instanceof Denied || (error instanceof ApiError && error.status === 403)) return 'ended'
      throw error
    }
  }
}
