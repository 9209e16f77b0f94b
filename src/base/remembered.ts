/** Remembers what was made of short texts that come again and again, such as names of headers. */

const mostKnown = 2000
/** Longer texts are rare, and their sender must not fill the memory. */
const longestKnown = 64

/** The same text by itself. A part of a header would keep the whole header in memory, also where it is made of nothing else. */
const alone = (text: string): string => {
  const flat = Buffer.from(text, 'latin1').toString('latin1')
  return flat === text ? flat : Buffer.from(text, 'utf16le').toString('utf16le')
}

/**
 * The same function, without the work for texts that came lately. It must be pure, and make no `undefined`.
 * @param longest length of a text that is remembered
 */
export function remembered<T extends NonNullable<unknown>>(
  make: (text: string) => T,
  longest = longestKnown,
): (text: string) => T {
  const known = new Map<string, T>()
  return text => {
    const found = known.get(text)
    if (found !== undefined) return found
    if (text.length > longest) return make(text)
    const key = alone(text)
    const made = make(key)
    // Only strangers send so many; the usual ones are back at once.
    if (known.size >= mostKnown) known.clear()
    known.set(key, made)
    return made
  }
}

/** A text in lower case, such as the name of a header. */
export const lowerOf = remembered(text => text.toLowerCase())
