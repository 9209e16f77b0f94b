/** JSON that says one thing: well-formed UTF-8, not too deep, and no key twice. */
import { visit } from 'jsonc-parser'
import { ApiError } from '../../base/errors.ts'
import type { Limits } from '../../config/limits.ts'

type JsonLimits = Pick<Limits, 'maxJsonDepth' | 'maxJsonItems'>

/** Blanks outside of strings. A body with one variable a line has a few thousand; each costs a parser as much as a value. */
const maxBlanks = 16_384
const codes = (characters: string) => new Set([...characters].map(character => character.charCodeAt(0)))
const [quote, backslash, comma] = ['"', '\\', ','].map(character => character.charCodeAt(0))
const [opening, closing, blank] = ['[{', ']}', ' \t\r\n'].map(codes) as [Set<number>, Set<number>, Set<number>]

/** Neither mends what is no UTF-8 nor passes over a byte order mark: whoever reads a body reads the same. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of a body, once it is known that its parsers agree on what it says: of a key that stands twice one takes the
 * first, another the last. `JSON.parse` tells of neither that nor of depth; the second look takes 30 µs for 3 KiB. What
 * takes long is found before either begins, so a body costs the event loop by its bytes alone.
 * @throws {ApiError} 400 for what is no JSON in UTF-8; 422 for JSON that is too deep or too much, has a key twice, or half
 *   a character
 */
export function checkedJson(bytes: ArrayBuffer | Uint8Array, limits: JsonLimits): string {
  let text: string
  try {
    text = decoder.decode(bytes)
  } catch {
    throw malformed()
  }
  measure(text, limits)
  try {
    JSON.parse(text)
  } catch {
    throw malformed()
  }
  look(text, limits)
  return text
}

/**
 * Bounds what parsing takes: the number of values, of which each but the first of a list or object has a comma before it;
 * how deep they are; and the blanks between them.
 */
function measure(text: string, { maxJsonItems, maxJsonDepth }: JsonLimits): void {
  let [commas, depth, blanks] = [0, 0, 0]
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === comma) commas += 1
    else if (blank.has(code)) blanks += 1
    else if (opening.has(code)) depth += 1
    else if (closing.has(code)) depth -= 1
    if (commas > maxJsonItems) throw tooManyItems(maxJsonItems)
    if (depth > maxJsonDepth) throw tooDeep(maxJsonDepth)
    if (blanks > maxBlanks) throw tooLarge(`the body has more than ${maxBlanks} blanks outside of strings`)
  }
}

/** Where a string ends that begins here: at its second quote, or with the text. */
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
        throw new ApiError(422, { msg: 'the key stands twice', type: 'duplicate_key', loc: ['body', ...path(), key] })
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

/** Half a surrogate pair, escaped: it can be in no file, and becomes something else in Kubernetes. */
function notUnicode(path: readonly (string | number)[]): ApiError {
  return new ApiError(422, { msg: 'is not well-formed Unicode', type: 'invalid', loc: ['body', ...path] })
}
