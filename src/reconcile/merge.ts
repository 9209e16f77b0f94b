/** Finds the merge patch from an object to a wish. Pure. */
import { asObject, type JsonObject } from '../base/json.ts'
import { parseQuantity } from '../base/quantity.ts'
import type { Path } from './types.ts'

/** Fields whose values are quantities by name. */
const quantitiesIn = new Set(['limits', 'requests', 'hard', 'capacity'])
/** As above, in an element of the list `limits` of a LimitRange. */
const quantitiesOfLimit = new Set(['default', 'defaultRequest', 'max', 'min'])
/** Fields that are a quantity. */
const quantities = new Set(['sizeLimit', 'divisor'])
/** Fields whose values are free text by name. */
const textsIn = new Set(['labels', 'annotations', 'matchLabels', 'nodeSelector', 'data', 'stringData'])

/**
 * The merge patch that makes `wanted` of `live`, as far as the wish goes: fields that neither `wanted` nor `last` have are
 * left alone. Fields of `last`, the wish of before, that are not wanted any more are removed. A list that differs is
 * replaced as a whole. `null` is a field that should not be. With `last` = `live` the result of the patch equals `wanted`.
 * @returns undefined when nothing differs
 */
export function patchTo(wanted: unknown, live: unknown, last: unknown): unknown {
  return differenceAt([], wanted, live, last)
}

/** @param path of the values; it is changed on the way, since a look compares hundreds of fields */
function differenceAt(path: string[], wanted: unknown, live: unknown, last: unknown): unknown {
  if (isObject(wanted)) return isObject(live) ? objectPatch(path, wanted, live, asObject(last)) : wanted
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live) || live.length !== wanted.length) return wanted
    const former = Array.isArray(last) ? last : []
    const isSame = wanted.every(
      (element, i) => differenceBelow(path, String(i), element, live[i], former[i]) === undefined,
    )
    return isSame ? undefined : wanted
  }
  return isSameValue(path, wanted, live) ? undefined : wanted
}

function differenceBelow(path: string[], name: string, wanted: unknown, live: unknown, last: unknown): unknown {
  path.push(name)
  const difference = differenceAt(path, wanted, live, last)
  path.pop()
  return difference
}

function objectPatch(path: string[], wanted: JsonObject, live: JsonObject, last: JsonObject): JsonObject | undefined {
  const patch: [string, unknown][] = []
  for (const name of Object.keys(wanted)) {
    const [value, standing] = [wanted[name], fieldOf(live, name)]
    if (value === undefined || (value === null && standing === undefined)) continue
    const own = differenceBelow(path, name, value, standing, fieldOf(last, name))
    if (own !== undefined) patch.push([name, own])
  }
  for (const name of Object.keys(last)) {
    const isGone = last[name] !== undefined && fieldOf(wanted, name) === undefined
    if (isGone && fieldOf(live, name) !== undefined) patch.push([name, null])
  }
  return patch.length === 0 ? undefined : Object.fromEntries(patch)
}

function isSameValue(path: Path, wanted: unknown, live: unknown): boolean {
  if (wanted === live) return true
  return isQuantity(path) && quantityOf(wanted) !== undefined && quantityOf(wanted) === quantityOf(live)
}

function isQuantity(path: Path): boolean {
  const parent = path.at(-2) ?? ''
  return quantitiesIn.has(parent) || (quantitiesOfLimit.has(parent) && path.at(-4) === 'limits')
    ? !textsIn.has(path.at(-3) ?? '')
    : quantities.has(path.at(-1)!) && !textsIn.has(parent)
}

function quantityOf(value: unknown): number | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  try {
    return parseQuantity(value)
  } catch {
    return undefined
  }
}

/** The value at a path; undefined without one. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, name) => (typeof at === 'object' && at !== null ? fieldOf(at, name) : undefined),
    value,
  )
}

/** A copy with another value at a path that exists. */
export function withValueAt(value: unknown, [name, ...rest]: Path, next: unknown): unknown {
  if (name === undefined) return next
  const inner = withValueAt(fieldOf(value as object, name), rest, next)
  return Array.isArray(value)
    ? value.map((element, i) => (String(i) === name ? inner : element))
    : { ...(value as object), [name]: inner }
}

/** The parts of an object at these paths, and nothing else. */
export function selected(object: object, paths: readonly Path[]): JsonObject {
  let result: JsonObject = {}
  for (const path of paths) {
    const value = valueAt(object, path)
    if (value !== undefined) result = planted(result, path, value)
  }
  return result
}

function planted(object: JsonObject, [name, ...rest]: Path, value: unknown): JsonObject {
  return { ...object, [name!]: rest.length === 0 ? value : planted(asObject(fieldOf(object, name!)), rest, value) }
}

function fieldOf(object: object, name: string): unknown {
  return Object.hasOwn(object, name) ? (object as JsonObject)[name] : undefined
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
