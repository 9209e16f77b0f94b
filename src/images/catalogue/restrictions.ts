/** Who may have which images (`images.restrictions`). Pure. */

import type { Group } from '../../base/domain.ts'
import { globs } from '../../base/glob.ts'
import type { Config } from '../../config/schema.ts'

type Restriction = Config['images']['restrictions'][number]

const tagsLike = globs()

/**
 * Which tags a user may have: one must satisfy each restriction that concerns it. It is the tag by which an image is asked
 * for that counts, so operators may recommend to all what is limited under its own tag.
 * @returns undefined where nothing is kept from this user
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
