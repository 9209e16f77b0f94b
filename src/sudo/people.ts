/** Callers of REST as the cluster knows them. Pure. */
import type { Identity } from '../base/domain.ts'
import type { RestConfig } from '../config/tenants.ts'
import type { Somebody } from '../tenants/roles.ts'
import { userProblem } from '../tenants/subjects.ts'

/** @returns undefined if no user of the cluster corresponds to callers, or none can have this name */
export function somebodyOf(
  { username, groups }: Pick<Identity, 'username' | 'groups'>,
  { usernameTemplate, groupTemplate }: RestConfig,
): Somebody | undefined {
  if (usernameTemplate === undefined) return undefined
  const name = filled(usernameTemplate, '{username}', username)
  if (userProblem(name) !== undefined) return undefined
  const named = groupTemplate === undefined ? [] : groups.map(group => filled(groupTemplate, '{group}', group.name))
  // Names of groups have the rules of names of users.
  return { username: name, groups: named.filter(group => userProblem(group) === undefined) }
}

/** Not `replaceAll`, which gives `$` a meaning. */
const filled = (template: string, mark: string, name: string): string => template.split(mark).join(name)
