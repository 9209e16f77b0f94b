/**
 * The tokens that a lab gets: its user's (SQR-066, "Secrets"), unless it is one that labs must not get, and one by which it
 * reports its own activity. Pure.
 */

import type { KubeObject, Scope } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

/** Key of the user's token in the lab's Secret, and name of its file (SQR-066, "Secrets"). */
export const tokenKey = 'token'
/** Likewise of the token by which the lab reports its own activity. */
export const activityTokenKey = 'activity-token'
/** No configured secret may have these names. */
export const reservedFiles: readonly string[] = [tokenKey, activityTokenKey]

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

/** A Secret with the token by which the lab reports its own activity. It names the op, so no plan has it. */
export const withActivityToken = (secret: KubeObject, token: string): KubeObject => ({
  ...secret,
  stringData: { ...(secret.stringData as object | undefined), [activityTokenKey]: token },
})
