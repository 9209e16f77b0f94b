/**
 * Decides whether a lab gets its user's token (SQR-066, "Secrets"), and refuses tokens that labs must not get. Pure.
 */

import type { Scope } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

const administratorScope: Scope = 'admin:jupyterlab'

/**
 * Default: only a token that the provider delegates to the lab. A caller's own token allows everything that its user
 * may do.
 */
export function getsToken({ lab, identity }: Pick<Config, 'lab' | 'identity'>): boolean {
  return (lab.token ?? (identity.provider === 'gafaelfawr' ? 'bearer' : 'none')) === 'bearer'
}

/**
 * Every program in a lab can read its token, so the token must not give access to other users' labs.
 * @throws {ApiError} 403 for a token with an administrator's scope
 */
export function requireNoAdministrator(scopes: readonly string[]): void {
  if (!scopes.includes(administratorScope)) return
  const msg = `Your token has the scope ${administratorScope}, and this site puts tokens into labs: ask with a token, or an account, that lacks this scope`
  throw new ApiError(403, { msg, type: 'token_too_strong', loc: ['header', 'authorization'] })
}
