/** Accepts only unambiguous JSON: well-formed UTF-8, not too deep, and without repeated keys. */
import { visit } from 'jsonc-parser'
import { ApiError } from '../../base/errors.ts'
import type { Limits } from '../../config/limits.ts'

type JsonLimits = Pick<Limits, 'maxJsonDepth' | 'maxJsonItems'>

/**
 * Blanks outside of strings. A body with one variable per line has a few thousand; each costs a parser as much as a
 * value.
 */
const maxBlanks = 16_384
const codes = (characters: string) => new Set([...characters].map(character => character.charCodeAt(0)))
const [quote, backslash, comma, brace] = ['"', '\\', ',', '{'].map(character => character.charCodeAt(0))
const [opening, closing, blank] = ['[{', ']}', ' \t\r\n'].map(codes) as [Set<number>, Set<number>, Set<number>]

/** Escaped code units that can be half of a pair; UTF-8 has none. */
const halfCharacter = /\\u[dD]/

/** Neither repairs invalid UTF-8 nor skips a byte order mark, so that every reader of a body reads the same. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of a body on whose meaning all parsers agree: of a repeated key, one takes the first value, another the
 * last. `JSON.parse` reports neither repeated keys nor depth. Expensive bodies are refused before parsing, so a body costs
 * the event loop only by its size. The pass that finds the exact place of a fault takes 30 µs for 3 KiB, so only a text
 * gets it that can have one.
 * @throws {ApiError} 400 for a text that is not JSON in UTF-8; 422 for JSON that is too deep or too large, repeats a
 *   key, or contains half a character
 */
export function checkedJson(bytes: ArrayBuffer | Uint8Array, limits: JsonLimits): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw malformed()
  }
  const isDoubtful = measure(text, limits)
  try {
    JSON.parse(text)
  } catch {
    throw malformed()
  }
  if (isDoubtful) look(text, limits)
  return text
}

/**
 * Limits the cost of parsing: the number of values (each but the first of a list or object follows a comma), their
 * depth, and the blanks between them.
 * @returns false if no key of the text, provided that it is JSON, can be repeated, no string can contain half a
 *   character, and it cannot have too many values; true if `look` must find out
 */
function measure(text: string, { maxJsonItems, maxJsonDepth }: JsonLimits): boolean {
  const keys = new Keys()
  let [commas, opened, depth, blanks] = [0, 0, 0, 0]
  let [isDoubtful, before] = [false, 0]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (blank.has(code)) {
      blanks += 1
      if (blanks > maxBlanks) throw tooLarge(`the body has more than ${maxBlanks} blanks outside of strings`)
      continue
    }
    if (code === quote) {
      const begin = at + 1
      at = endOfString(text, at)
      isDoubtful ||= keys.areDoubtful(before, text.slice(begin, at))
    } else if (code === comma) commas += 1
    else if (opening.has(code)) {
      depth += 1
      opened += 1
      keys.enter(code)
    } else if (closing.has(code)) {
      depth -= 1
      keys.leave()
    }
    before = code
    // The outermost value is no item; each other bracket opens one.
    if (commas > maxJsonItems || opened - 1 > maxJsonItems) throw tooManyItems(maxJsonItems)
    if (depth > maxJsonDepth) throw tooDeep(maxJsonDepth)
  }
  return isDoubtful || commas + opened > maxJsonItems
}

/** The keys of the objects around a place in a text. */
class Keys {
  /** undefined for a list. */
  readonly #around: (Set<string> | undefined)[] = []

  enter(bracket: number): void {
    this.#around.push(bracket === brace ? new Set() : undefined)
  }

  leave(): void {
    this.#around.pop()
  }

  /**
   * Adds a string, if it is a key. Keys without a backslash are equal only if their texts are.
   * @param before the last character before it that is not blank
   */
  areDoubtful(before: number, string: string): boolean {
    const keys = before === brace || before === comma ? this.#around.at(-1) : undefined
    if (keys === undefined) return halfCharacter.test(string)
    if (keys.has(string)) return true
    keys.add(string)
    return string.includes('\\')
  }
}

/** The end of the string that begins here: its second quote, or the end of the text. */
function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at += 1
  }
  return text.length
}

function look(text: string, { maxJsonItems }: JsonLimits): void {
  const keys: Set<string>[] = []
  // The outermost value is neither a property nor an element.
  let items = -1
  const count = () => {
    items += 1
    if (items > maxJsonItems) throw tooManyItems(maxJsonItems)
  }
  const enter = () => {
    count()
    keys.push(new Set())
  }
  const leave = () => void keys.pop()
  visit(text, {
    onObjectBegin: enter,
    onArrayBegin: enter,
    onObjectEnd: leave,
    onArrayEnd: leave,
    onLiteralValue: (value, _offset, _length, _line, _column, path) => {
      count()
      if (typeof value === 'string' && !value.isWellFormed()) throw notUnicode(path())
    },
    onObjectProperty: (key, _offset, _length, _line, _column, path) => {
      const seen = keys.at(-1)!
      if (!key.isWellFormed()) throw notUnicode(path())
      if (seen.has(key)) {
        throw new ApiError(422, { msg: 'the key is repeated', type: 'duplicate_key', loc: ['body', ...path(), key] })
      }
      seen.add(key)
    },
  })
}

function malformed(): ApiError {
  return new ApiError(400, { msg: 'the body is not well-formed JSON in UTF-8', type: 'malformed', loc: ['body'] })
}

const tooManyItems = (max: number) => tooLarge(`the body has more than ${max} properties and elements`)

const tooLarge = (msg: string) => new ApiError(422, { msg, type: 'too_large', loc: ['body'] })

function tooDeep(max: number): ApiError {
  const msg = `the body has more than ${max} objects and lists within each other`
  return new ApiError(422, { msg, type: 'too_deep', loc: ['body'] })
}

/** Half an escaped surrogate pair: it cannot be written to a file, and Kubernetes replaces it. */
function notUnicode(path: readonly (string | number)[]): ApiError {
  return new ApiError(422, { msg: 'is not well-formed Unicode', type: 'invalid', loc: ['body', ...path] })
}
