/** Activity from one value of a JSON answer, which a pointer selects (RFC 6901). Pure. */
import { type AnswerText, newestOf, parseEpoch, parseInstant, parseJson } from './answers.ts'
import { type CounterEvidence, growthOf, MalformedAnswer } from './evidence.ts'

/** Which value counts, and how. */
export interface JsonSelector {
  /** Such as `/lastHeartbeat`. */
  readonly pointer: string
  /** `counter`: activity makes it grow. `timestamp`: the time of activity, by RFC 3339 or in s or ms since the epoch. */
  readonly as: 'counter' | 'timestamp'
}

/**
 * @param previous the reading of the look before
 * @throws {MalformedAnswer} when the value is missing or has no such meaning
 */
export function readJsonValue(
  answer: AnswerText,
  { pointer, as }: JsonSelector,
  previous: number | undefined,
): CounterEvidence {
  const value = valueAt(parseJson(answer), pointer)
  if (as === 'counter') return growthOf(typeof value === 'number' ? value : Number.NaN, previous)
  const atMs = typeof value === 'number' ? parseEpoch(value) : parseInstant(value)
  return newestOf(atMs === undefined ? [] : [atMs], answer)
}

const pointerForm = /^(?:\/(?:[^~/]|~[01])*)*$/

export const isPointer = (text: string): boolean => pointerForm.test(text)

/**
 * The value that a pointer selects.
 * @throws {MalformedAnswer} when there is none
 */
export function valueAt(root: unknown, pointer: string): unknown {
  let value = root
  for (const token of tokensOf(pointer)) {
    if (!hasChild(value, token)) throw new MalformedAnswer(`its answer has no value at ${pointer}`)
    value = value[token]
  }
  return value
}

const tokensOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))

function hasChild(value: unknown, token: string): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value) && !/^(?:0|[1-9]\d*)$/.test(token)) return false
  return Object.hasOwn(value, token)
}
