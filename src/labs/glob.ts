/** Patterns of operators, in which * stands for anything. Pure. */

/** The expression that a whole text must match. */
export function globForm(pattern: string, flags = 's'): RegExp {
  const parts = pattern.split('*').map(part => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, flags)
}
