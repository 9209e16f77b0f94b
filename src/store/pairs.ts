/** @param flat names and values in turns, as scripts answer them */
export const pairsOf = (flat: readonly string[]): (readonly [string, string])[] =>
  Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!])
