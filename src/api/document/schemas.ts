/** Schemas of routes of several features: common fields of requests, and all refusals. */
import { z } from '@hono/zod-openapi'
import type { Limits } from '../../config/limits.ts'
import { component } from './components.ts'
import { problemTypes } from './problem-types.ts'

/** The part of the configuration that schemas show to clients. */
export interface Bounds {
  /** Names of `lab.sizes`. */
  readonly sizes: readonly string[]
  readonly limits: Limits
}

/**
 * Gives a schema a name in the OpenAPI document, and lets zod describe it there: the framework's own generator supports
 * neither optional keys that must not be `undefined` nor schemas of a record's keys.
 * @param io the side of a schema that converts: its input or its output
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

/** For streams of events that go on. */
export const followHeaders = z.object({
  ...requestHeaders,
  'last-event-id': z.string().optional().openapi({
    description: 'id of the last event received: the stream goes on after it',
    minLength: 3,
    maxLength: 26,
    pattern: '^[0-9]{1,16}-[0-9]{1,9}$',
    example: '3-2',
  }),
})

/**
 * Invisible characters, for engines without Unicode categories: category Cf up to U+FFFF. Above it, and for the line
 * separators, languages and generators disagree about the notation; the server refuses those characters with 422
 * anyway.
 */
const unseen =
  '\\xad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u2064\\u2066-\\u206f\\ufeff\\ufff9-\\ufffb'
const unfit = `\\x00-\\x1f\\x7f-\\x9f:\\/${unseen}`
/** Neither `.` nor `..`, without look-ahead. */
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
    msg: z.string().min(1).describe('a text for people'),
    // Not the list alone: a client generated from an older document must accept types of newer releases.
    type: z
      .union([problemType, z.string().regex(/^[a-z_]+$/)])
      .describe('a word for programs: one of `ErrorType`; later releases may add others'),
    loc: z
      .array(z.union([z.string(), z.number()]))
      .exactOptional()
      .describe('where the problem is: `body`, `path`, `query` or `header`, then the way to it'),
  }),
  'one problem',
)

export const errorBody = named(
  'ErrorBody',
  z.object({ detail: z.array(errorDetail).min(1).describe('one entry for each problem') }),
)
