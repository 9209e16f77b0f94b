/** Identities from a file of tokens. */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import type { Logger } from '../telemetry/log.ts'
import { bearerToken, type IdentityProvider, unauthorized } from './provider.ts'
import { identityOf, type TokenRecord } from './tokens.ts'

/**
 * The provider `static`. It warns in the log that it is not for real users: the file has tokens in plain text, and
 * nobody can revoke one without a restart.
 */
export function createStaticIdentity(tokens: readonly TokenRecord[], log: Logger): IdentityProvider {
  log.warn({ tokens: tokens.length }, 'identity provider static is for demos and tests, never for real users')
  // Both sides are hashed under a key of this process, so that the time of a look-up reveals nothing about a token.
  const key = createSecretKey(randomBytes(32))
  const hash = (token: string) => createHmac('sha256', key).update(token).digest('base64')
  const known = new Map(tokens.map(record => [hash(record.token), identityOf(record)]))

  return {
    async identify(headers) {
      const presented = bearerToken(headers)
      const identity = presented === undefined ? undefined : known.get(hash(presented))
      if (identity === undefined) throw unauthorized()
      return identity
    },
  }
}
