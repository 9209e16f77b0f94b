/** Whether a lab gets its user's token (SQR-066, "Secrets"), and which token it never gets. Pure. */

import type { Scope } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

const ofAdministrators: Scope = 'admin:jupyterlab'

/** A caller's own token is worth all that its user may do; only where one is delegated to the lab it is a default. */
export function getsToken({ lab, identity }: Pick<Config, 'lab' | 'identity'>): boolean {
  return (lab.token ?? (identity.provider === 'gafaelfawr' ? 'bearer' : 'none')) === 'bearer'
}

/**
 * All that runs in a lab can read its token, so none may be worth the labs of others.
 * @throws {ApiError} 403 for the scopes of an administrator's
 */
export function requireNoAdministrator(scopes: readonly string[]): void {
  if (!scopes.includes(ofAdministrators)) return
  const msg = `Your token has the scope ${ofAdministrators}, and this site puts tokens into labs: ask with a token, or an account, that lacks this scope`
  throw new ApiError(403, { msg, type: 'token_too_strong', loc: ['header', 'authorization'] })
}
