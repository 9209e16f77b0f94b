/** Remembers what was made of short texts that come again and again, such as names of headers. */

const mostKnown = 2000
/** Longer texts are rare, and whoever sends them must not fill the memory. */
const longestKnown = 64

/** The same function, without the work for texts that came lately. It must be pure, and make no `undefined`. */
export function remembered<T extends NonNullable<unknown>>(make: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>()
  return text => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = make(text)
    if (text.length > longestKnown) return made
    // Only strangers send so many; the usual ones are back at once.
    if (known.size >= mostKnown) known.clear()
    known.set(text, made)
    return made
  }
}

/** A text in lower case, such as the name of a header. */
export const lowerOf = remembered(text => text.toLowerCase())
