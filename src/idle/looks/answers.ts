/** Reads answers of workloads, which may contain anything: JSON, lists and times. Pure. */
import { asObject, type JsonObject } from '../../base/json.ts'
import { type Evidence, MalformedAnswer, nothing } from './evidence.ts'

/** An answer with status 200. */
export interface AnswerText {
  readonly body: string
  /** The header `Date`. Ages are measured by the clock of the answering server: a wrong clock changes none. */
  readonly date: string
}

/** Kernels or terminals of one workload. */
const maxEntries = 1000

/** @throws {MalformedAnswer} for no JSON; the parser's own message would quote the text */
export function parseJson({ body }: AnswerText): unknown {
  try {
    return JSON.parse(body)
  } catch {
    throw new MalformedAnswer('its answer is not JSON')
  }
}

/** @throws {MalformedAnswer} for no list of objects, and for a list that is too long */
export function parseList(answer: AnswerText): readonly JsonObject[] {
  const value = parseJson(answer)
  if (!Array.isArray(value)) throw new MalformedAnswer('its answer is not a list')
  if (value.length > maxEntries) throw new MalformedAnswer(`its answer lists more than ${maxEntries} entries`)
  // An entry that is not an object has no valid field.
  return value.map(asObject)
}

/** RFC 3339, with upper-case letters and a zone. */
const instantForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/

/**
 * @returns milliseconds since the epoch
 * @throws {MalformedAnswer} for anything but a time of RFC 3339
 */
export function parseInstant(value: unknown): number {
  const ms = typeof value === 'string' && instantForm.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) throw new MalformedAnswer('a time in its answer is missing or unreadable')
  return ms
}

/** Numbers from here on are milliseconds: as seconds they would be of the year 5138. */
const firstMs = 1e11
/** The end of JavaScript's calendar. */
const lastMs = 8.64e15

/**
 * @param value seconds or milliseconds since the epoch
 * @returns milliseconds since the epoch; undefined for 0, by which servers say "never"
 * @throws {MalformedAnswer} for no such number
 */
export function parseEpoch(value: number): number | undefined {
  if (!(value >= 0 && value <= lastMs)) throw new MalformedAnswer('a time in its answer is missing or unreadable')
  if (value === 0) return undefined
  return value < firstMs ? value * 1000 : value
}

/** IMF-fixdate (RFC 9110): the one form that servers send. */
const dateForm = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * The evidence of the newest of these times, in ms since the epoch. A time ahead of the answer's date is one of now.
 * @throws {MalformedAnswer} when the answer has no date
 */
export function newestOf(times: readonly number[], { date }: AnswerText): Evidence {
  if (times.length === 0) return nothing
  const nowMs = dateForm.test(date) ? Date.parse(date) : Number.NaN
  if (Number.isNaN(nowMs)) throw new MalformedAnswer('its answer has no readable Date header')
  return { busy: false, ageMs: Math.max(0, nowMs - Math.max(...times)) }
}
