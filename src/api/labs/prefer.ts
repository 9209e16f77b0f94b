/** The header `Prefer` (RFC 7240), as far as it has a meaning here: `return=minimal`. */

/** A longer header is ignored. */
const maxLength = 1024

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const quoted = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const value = `[ \\t]*=[ \\t]*(?:${token}|${quoted})`
/** One preference with its parameters; none of them has a meaning here. */
const preference = new RegExp(`(${token})(${value})?(?:[ \\t]*;(?:[ \\t]*${token}(?:${value})?)?)*`, 'y')
/** Separates two preferences; list elements may be empty. */
const gap = /[ \t]*(?:,[ \t,]*|$)/y
const leading = /[ \t,]*/y

/**
 * Whether a client wants only the fact that its request was accepted. Preferences are optional: unknown, malformed or
 * contradictory ones have no effect.
 */
export function prefersMinimal(header: string | undefined): boolean {
  if (header === undefined || header.length > maxLength) return false
  const returns = preferencesOf(header)
    .filter(([name]) => name === 'return')
    .map(([, wanted]) => wanted)
  // The first of repeated preferences counts; the two values of return exclude each other.
  return returns[0] === 'minimal' && !returns.includes('representation')
}

/** Names and values in lower case; none where the header is not well-formed. */
function preferencesOf(header: string): (readonly [name: string, value: string])[] {
  const found: (readonly [string, string])[] = []
  let at = endOf(leading, header, 0)!
  while (at < header.length) {
    preference.lastIndex = at
    const [whole, name = '', given = ''] = preference.exec(header) ?? []
    const next = whole === undefined ? undefined : endOf(gap, header, at + whole.length)
    if (next === undefined) return []
    found.push([name.toLowerCase(), given.replace(/^[ \t]*=[ \t]*/, '').toLowerCase()])
    at = next
  }
  return found
}

/** The end of a match at this place; undefined without one. */
function endOf(form: RegExp, text: string, at: number): number | undefined {
  form.lastIndex = at
  return form.test(text) ? form.lastIndex : undefined
}
