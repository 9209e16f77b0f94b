/** A part of a list of apps, from its beginning or from its end, as GraphQL asks for it. Pure. */

export interface Choice {
  readonly id?: string | undefined
  readonly groups?: readonly string[] | undefined
  /** In the id of the template. */
  readonly templateContains?: string | undefined
}

export interface Span {
  readonly first?: number | undefined
  readonly after?: string | undefined
  readonly last?: number | undefined
  readonly before?: string | undefined
}

export interface Part<T> {
  readonly entries: readonly T[]
  readonly hasNext: boolean
  readonly hasPrevious: boolean
}

/** The most entries of a part. */
export const mostOfPart = 100

/** @param all in the order of their ids */
export function partOf<T>(all: readonly T[], idOf: (entry: T) => string, span: Span): Part<T> {
  const { first = mostOfPart, after, last, before } = span
  const between = all.filter(
    entry => (after === undefined || idOf(entry) > after) && (before === undefined || idOf(entry) < before),
  )
  const head = between.slice(0, Math.min(first, mostOfPart))
  const isFromEnd = last !== undefined && span.first === undefined
  const whole = isFromEnd ? between : head
  const entries = last === undefined ? whole : whole.slice(Math.max(0, whole.length - Math.min(last, mostOfPart)))
  const [begin, end] = [entries[0], entries.at(-1)]
  return {
    entries,
    hasNext: end !== undefined && all.at(-1) !== end,
    hasPrevious: begin !== undefined && all[0] !== begin,
  }
}
