/**
 * Takes from JSON of others what a form names, and notes the path of all else. What the server would drop, such as an empty
 * list, is left out without a note: a wish with it would be found different for ever. Pure.
 */
import type { JsonObject } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'

/** What was left out, by its path. */
export class Pruned {
  readonly #paths: string[] = []
  #more = 0

  add(path: string): void {
    if (this.#paths.length < 100) this.#paths.push(path.slice(0, 200))
    else this.#more += 1
  }

  get paths(): readonly string[] {
    return this.#more === 0 ? this.#paths : [...this.#paths, `${this.#more} more`]
  }
}

/** @returns the value as it is kept; undefined where nothing is */
export type Form = (value: unknown, path: string, pruned: Pruned) => unknown

/** A value that is kept if it fits, and left out without a note if it is the empty one. */
const kept =
  (fits: (value: unknown) => boolean, empty?: unknown): Form =>
  (value, path, pruned) => {
    if (value === undefined || value === null || value === empty) return undefined
    if (fits(value)) return value
    pruned.add(path)
    return undefined
  }

const isText = (value: unknown): value is string => typeof value === 'string'
const isWithin = (value: unknown, least: number, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most

export const text: Form = kept(isText, '')
export const textLike = (pattern: RegExp): Form => kept(value => isText(value) && pattern.test(value), '')
export const oneOf = (...values: readonly (string | boolean)[]): Form => kept(value => values.includes(value as string))
/** A flag that the server keeps only if it is set. */
export const flag: Form = kept(value => value === true, false)
/** A flag that the server keeps as it is. */
export const choice: Form = kept(value => typeof value === 'boolean')
/** A number that the server keeps only if it is not 0. */
export const count = (most: number): Form => kept(value => isWithin(value, 1, most), 0)
/** A number that the server keeps as it is. */
export const number = (least: number, most: number): Form => kept(value => isWithin(value, least, most))
/** A port by number or by name. */
export const portOrName: Form = kept(
  value => isWithin(value, 1, 65_535) || (isText(value) && /^[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?$/.test(value)),
)
export const texts: Form = (value, path, pruned) =>
  kept(list => Array.isArray(list) && list.every(isText))(isEmptyList(value) ? undefined : value, path, pruned)

export const quantity: Form = kept(value => {
  if (!isText(value) && typeof value !== 'number') return false
  try {
    return parseQuantity(value) >= 0
  } catch {
    return false
  }
})

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** Elements of which nothing is kept are left out. */
export const list =
  (element: Form): Form =>
  (value, path, pruned) => {
    const elements = kept(Array.isArray)(value, path, pruned) as readonly unknown[] | undefined
    const all = (elements ?? []).map((each, i) => element(each, `${path}[${i}]`, pruned))
    const left = all.filter(each => each !== undefined)
    return left.length === 0 ? undefined : left
  }

export interface ObjectRules {
  /** Without one of these nothing is kept. */
  readonly needs?: readonly string[]
  /** Without any of these nothing is kept. */
  readonly needsOneOf?: readonly string[]
  /** The server keeps it although it is empty. */
  readonly mayBeEmpty?: boolean
}

export const object =
  (fields: Readonly<Record<string, Form>>, { needs = [], needsOneOf, mayBeEmpty = false }: ObjectRules = {}): Form =>
  (value, path, pruned) => {
    const whole = kept(isObject)(value, path, pruned) as JsonObject | undefined
    if (!whole) return undefined
    const result = Object.fromEntries(fieldsOf(whole, fields, path, pruned))
    const has = (name: string) => result[name] !== undefined
    if (needs.every(has) && (needsOneOf?.some(has) ?? true)) {
      return mayBeEmpty || Object.keys(result).length > 0 ? result : undefined
    }
    pruned.add(path)
    return undefined
  }

function* fieldsOf(
  whole: JsonObject,
  fields: Readonly<Record<string, Form>>,
  path: string,
  pruned: Pruned,
): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(whole)) {
    const at = path === '' ? shown(name) : `${path}.${shown(name)}`
    const form = Object.hasOwn(fields, name) ? fields[name]! : nothing
    const result = form(value, at, pruned)
    if (result !== undefined) yield [name, result]
  }
}

const nothing: Form = kept(() => false)

/** A name of a field that a stranger chose. */
const shown = (name: string): string => (/^[A-Za-z0-9_-]{1,63}$/.test(name) ? name : JSON.stringify(name.slice(0, 63)))

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
