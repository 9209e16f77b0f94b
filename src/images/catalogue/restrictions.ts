/** Decides which users may have which images (`images.restrictions`). Pure. */

import type { Group } from '../../base/domain.ts'
import { globs } from '../../base/glob.ts'
import type { Config } from '../../config/schema.ts'

type Restriction = Config['images']['restrictions'][number]

const tagsLike = globs()

/**
 * A test for the tags that a user may have: the user must satisfy each restriction that concerns the tag. Only the
 * requested tag counts, so operators may recommend an image to everyone that is restricted under its own tag.
 * @returns undefined if nothing is restricted for this user
 */
export function permittedTags(
  restrictions: readonly Restriction[],
  groups: readonly Group[],
): ((tag: string) => boolean) | undefined {
  const names = new Set(groups.map(({ name }) => name))
  const unmet = restrictions.filter(restriction => !restriction.groups.some(name => names.has(name)))
  if (unmet.length === 0) return undefined
  const kept = unmet.map(({ tags }) => tagsLike(tags))
  return tag => !kept.some(isLike => isLike(tag))
}
