/** Patterns of operators, in which * matches any text. Pure. */

export interface GlobOptions {
  /** Whether small and capital letters are the same. Default false. */
  readonly ignoreCase?: boolean
}

/** Whether a whole text matches. */
type Glob = (text: string) => boolean

/**
 * Each part between stars is matched at its first position behind the part before: if the parts match at all, they
 * match there. No part is tried twice, whatever the text is.
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

/** Makes a matcher for lists of patterns. Lists come from the configuration, so each is prepared once. */
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
