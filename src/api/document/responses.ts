/** Successes, as the OpenAPI document tells them. */
import type { z } from '@hono/zod-openapi'
import { type Header, type Headers, requestIdHeader } from './headers.ts'

/** What all answers of the app bear, and what one has beside it. */
export function answered(more: Headers = {}): Record<string, Header> {
  return { 'X-Request-ID': requestIdHeader(), ...more }
}

/** A success that is JSON. */
export function json<T extends z.ZodType>(description: string, schema: T, example: z.output<T>) {
  return { description, headers: answered(), content: { 'application/json': { schema, example: example as unknown } } }
}
