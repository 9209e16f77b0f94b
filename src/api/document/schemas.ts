/** Schemas that routes of several features have: what every request may say, and what every refusal says. */
import { z } from '@hono/zod-openapi'
import type { Limits } from '../../config/limits.ts'
import { component } from './components.ts'
import { problemTypes } from './problem-types.ts'

/** What of the configuration clients are told by the schemas. */
export interface Bounds {
  /** Names of `lab.sizes`. */
  readonly sizes: readonly string[]
  readonly limits: Limits
}

/**
 * Gives a schema a name in the OpenAPI document, and has zod describe it there: the framework's own generator knows
 * neither optional keys that may not be `undefined` nor the names of a record's keys.
 * @param io which side of a schema that converts is meant: what it takes, or what it gives
 */
export function named<T extends z.ZodType>(name: string, schema: T, io: 'input' | 'output' = 'output'): T {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return schema.openapi(name, json as object)
}

export const requestHeaders = {
  'x-request-id': z.string().optional().openapi({
    description: 'names the request in logs, if it has 1 to 128 letters, digits and . : = + / _ -; given back',
    example: '7f9c0e2a-hub',
  }),
  traceparent: z.string().optional().openapi({
    description:
      'the trace that the request and what it begins belong to (W3C Trace Context); any other value is ignored',
    example: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  }),
}

export const plainHeaders = z.object(requestHeaders)

/**
 * Characters of names that nobody sees, for readers of expressions that know no categories: Unicode's category Cf up to
 * U+FFFF. Above it, and for the line separators, languages and generators disagree about how an expression is written; the
 * server refuses those characters by 422 all the same.
 */
const unseen =
  '\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb'
const unfit = `\\x00-\\x1f\\x7f-\\x9f:\\/${unseen}`
/** Neither `.` nor `..`, without looking ahead. */
const usernamePattern = `^(\\.*[^.${unfit}][^${unfit}]*|\\.{3,})$`

export function userPath({ limits }: Bounds) {
  return z.object({
    username: z.string().openapi({
      description: `the user whose lab it is: ${limits.maxUsernameBytes} bytes of UTF-8 at most, without colons, slashes, control characters and invisible characters`,
      minLength: 1,
      maxLength: limits.maxUsernameBytes,
      pattern: usernamePattern,
      example: 'ada',
    }),
  })
}

const problemType = component('ErrorType', z.enum(problemTypes), 'the types of errors that this release knows')

const errorDetail = component(
  'ErrorDetail',
  z.object({
    msg: z.string().min(1).describe('words for people'),
    // Not the list alone: a client that was generated of an older document has to read what a newer release adds.
    type: z
      .union([problemType, z.string().regex(/^[a-z_]+$/)])
      .describe('a word for programs: one of `ErrorType`; later releases may add others'),
    loc: z
      .array(z.union([z.string(), z.number()]))
      .exactOptional()
      .describe('where the problem is: `body`, `path` or `header`, then the way to it'),
  }),
  'one thing that is wrong',
)

export const errorBody = named(
  'ErrorBody',
  z.object({ detail: z.array(errorDetail).min(1).describe('one entry for each thing that is wrong') }),
)
