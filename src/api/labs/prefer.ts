/** The header `Prefer` (RFC 7240), as far as it has a meaning here: `return=minimal`. */

/** A header that is longer asks for nothing. */
const maxLength = 1024

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const quoted = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"'
const value = `[ \\t]*=[ \\t]*(?:${token}|${quoted})`
/** One preference with its parameters; none of them has a meaning here. */
const preference = new RegExp(`(${token})(${value})?(?:[ \\t]*;(?:[ \\t]*${token}(?:${value})?)?)*`, 'y')
/** Between two preferences; a list may have empty places. */
const gap = /[ \t]*(?:,[ \t,]*|$)/y
const leading = /[ \t,]*/y

/**
 * Whether a client wants no more than the fact that its request was accepted. Preferences are wishes: what is not known,
 * not well-formed, or asks for two things at once changes nothing.
 */
export function prefersMinimal(header: string | undefined): boolean {
  if (header === undefined || header.length > maxLength) return false
  const returns = preferencesOf(header)
    .filter(([name]) => name === 'return')
    .map(([, wanted]) => wanted)
  // Of one that stands twice the first counts; those two exclude each other.
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

/** Where what stands there ends; undefined where it does not stand there. */
function endOf(form: RegExp, text: string, at: number): number | undefined {
  form.lastIndex = at
  return form.test(text) ? form.lastIndex : undefined
}
