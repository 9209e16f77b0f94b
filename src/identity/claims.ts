/** Maps the claims of a checked token to an identity, as configured. Pure. */
import { z } from 'zod'
import type { Group, Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import { checkUsername } from '../base/usernames.ts'
import type { ClaimPath, OidcConfig } from '../config/identity.ts'
import { absentable, group, notebookQuota, posixId } from './metadata.ts'

type Claims = Readonly<Record<string, unknown>>
type Mapping = Pick<OidcConfig, 'claims' | 'groupScopes'>

const username = z.string().refine(isUsername)
/** Directories often send numbers as text. */
const id = z.union([
  posixId,
  z
    .string()
    .regex(/^\d{1,10}$/)
    .transform(Number)
    .pipe(posixId),
])
const groups = z.array(
  z.union([
    z
      .string()
      .min(1)
      .transform((name): Group => ({ name })),
    group,
  ]),
)
const scopes = z.union([z.string().transform(text => text.split(' ').filter(Boolean)), z.array(z.string())])

/**
 * @throws {ApiError} 403 that names the claim, when a required one is missing, or one cannot be used. Null is the same
 *   as missing: then the UID, groups, quota or scopes are unknown.
 */
export function identityFromClaims(claims: Claims, { claims: paths, groupScopes }: Mapping): Omit<Identity, 'token'> {
  const read = <T extends z.ZodType>(path: ClaimPath, schema: T) => readClaim(claims, path, schema)
  const uid = read(paths.uid, absentable(id))
  const gid = read(paths.gid, absentable(id))
  const quota = read(paths.quota, absentable(notebookQuota))
  const memberOf = read(paths.groups, absentable(groups)) ?? []
  const own = read(paths.scopes, absentable(scopes)) ?? []
  const granted = memberOf.flatMap(({ name }) => (Object.hasOwn(groupScopes, name) ? groupScopes[name]! : []))
  return {
    username: read(paths.username, username),
    scopes: [...new Set([...own, ...granted])],
    groups: memberOf,
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
    ...(quota !== undefined && { quota }),
  }
}

function readClaim<T extends z.ZodType>(claims: Claims, path: ClaimPath, schema: T): z.output<T> {
  const names = typeof path === 'string' ? [path] : path
  const parsed = schema.safeParse(valueAt(claims, names))
  if (parsed.success) return parsed.data
  const msg = `the claim ${names.join(' → ')} of the token is missing or cannot be used`
  throw new ApiError(403, { msg, type: 'claim_unusable' })
}

function valueAt(claims: Claims, names: readonly string[]): unknown {
  let value: unknown = claims
  for (const name of names) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Claims)[name]
  }
  return value
}

function isUsername(name: string): boolean {
  try {
    checkUsername(name)
    return true
  } catch {
    return false
  }
}
