/** Flat lists of names and values, as Redis returns hashes and entries of streams. Pure. */

/** One value of a flat list of pairs, without a map of all. */
export function valueIn(flat: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < flat.length; i += 2) if (flat[i] === name) return flat[i + 1]
  return undefined
}

/** Reads a flat list of pairs as Redis returns it: [name, value, name, value, …]. */
export function pairs(flat: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>()
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(flat[i]!, flat[i + 1]!)
  return fields
}
