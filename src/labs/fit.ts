/** Numbers and names of users that a site takes for labs. Pure. */

import type { Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Config } from '../config/schema.ts'

/** Nothing that a shell, or a script that root runs over all homes, reads as anything but a name. */
const plainName = '[A-Za-z0-9_][A-Za-z0-9._@+-]*'

/** The part of an identity that is looked at. */
type Applicant = Pick<Identity, 'username' | 'uid' | 'gid' | 'groups'>

/**
 * Refuses ids of the system, and names that the site does not take.
 * @throws {ApiError} 403 in words, which name the key that decides
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
    'Your user name has characters, or a form, that this site takes for no lab (identity.usernamePattern)',
  )
}

function requireLeast(what: string, id: number | undefined, least: number, key: string): void {
  if (id === undefined || id >= least) return
  throw forbidden(`Your ${what} ${id} is below ${least}, the least with which labs run at this site (identity.${key})`)
}

function forbidden(msg: string): ApiError {
  return new ApiError(403, { msg, type: 'forbidden' })
}
