/** Patterns of operators, in which * stands for anything. Pure. */

/** The expression that a whole text must match. */
function globForm(pattern: string, flags: string): RegExp {
  const parts = pattern.split('*').map(part => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, flags)
}

/**
 * What makes expressions of lists of patterns. A list is a configuration's, so each is made once: an expression is compiled
 * when it is first used.
 */
export function globForms(flags: string): (patterns: readonly string[]) => readonly RegExp[] {
  const known = new WeakMap<readonly string[], readonly RegExp[]>()
  return patterns => {
    const forms = known.get(patterns) ?? patterns.map(pattern => globForm(pattern, flags))
    known.set(patterns, forms)
    return forms
  }
}
