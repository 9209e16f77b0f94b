/** Patterns of operators, in which * stands for anything. Pure. */

export interface GlobOptions {
  /** Whether small and capital letters are the same. Default false. */
  readonly ignoreCase?: boolean
}

/** What tells whether a whole text is like a pattern. */
type Glob = (text: string) => boolean

/**
 * Each part between stars is taken where it stands first behind the one before: if the parts fit at all, they fit there.
 * So nothing is tried twice, whatever the text is.
 */
function glob(pattern: string): Glob {
  const parts = pattern.split('*')
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (parts.length === 1) return text => text === pattern
  const between = parts.slice(1, -1)
  return text => {
    if (!text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let at = first.length
    for (const part of between) {
      const found = text.indexOf(part, at)
      if (found < 0) return false
      at = found + part.length
    }
    return at <= end
  }
}

/** What tells whether a text is like any pattern of a list. A list is a configuration's, so each is prepared once. */
export function globs({ ignoreCase = false }: GlobOptions = {}): (patterns: readonly string[]) => Glob {
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text)
  const known = new WeakMap<readonly string[], readonly Glob[]>()
  return patterns => {
    const forms = known.get(patterns) ?? patterns.map(pattern => glob(fold(pattern)))
    known.set(patterns, forms)
    return text => {
      const folded = fold(text)
      return forms.some(form => form(folded))
    }
  }
}
