/** Checks whether a site accepts the ids and the name of a user for labs. Pure. */

import type { Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

/** Names that a shell, or a root script over all homes, can only read as a name. */
const plainName = '[A-Za-z0-9_][A-Za-z0-9._@+-]*'

/** The part of an identity that is checked. */
type Applicant = Pick<Identity, 'username' | 'uid' | 'gid' | 'groups'>

/**
 * Refuses system ids, and names that the site does not accept.
 * @throws {ApiError} 403 with a reason that names the key of the configuration
 */
export function requireFit({ identity, lab }: Pick<Config, 'identity' | 'lab'>, applicant: Applicant): void {
  const { username, uid, gid, groups } = applicant
  const { minUid, minGid, usernamePattern } = identity
  requireLeast('UID', uid, minUid, 'minUid')
  requireLeast('primary GID', gid, minGid, 'minGid')
  for (const { name, id } of groups) requireLeast(`group ${name}'s GID`, id, minGid, 'minGid')
  const pattern = usernamePattern ?? (lab.provisioning?.runAsRoot ? plainName : undefined)
  if (pattern === undefined || new RegExp(`^(?:${pattern})$`, 'u').test(username)) return
  throw forbidden(
    'Your user name has characters, or a form, that this site does not accept for labs (identity.usernamePattern)',
  )
}

function requireLeast(what: string, id: number | undefined, least: number, key: string): void {
  if (id === undefined || id >= least) return
  throw forbidden(`Your ${what} ${id} is below ${least}, the lowest that this site accepts for labs (identity.${key})`)
}

function forbidden(msg: string): ApiError {
  return new ApiError(403, { msg, type: 'forbidden' })
}
