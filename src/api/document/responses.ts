/** Successful responses for the OpenAPI document. */
import type { z } from '@hono/zod-openapi'
import { type Header, type Headers, requestIdHeader } from './headers.ts'

/** Headers of all answers of the app, and further ones of this answer. */
export function answered(more: Headers = {}): Record<string, Header> {
  return { 'X-Request-ID': requestIdHeader(), ...more }
}

/** A successful response in JSON. */
export function json<T extends z.ZodType>(description: string, schema: T, example: z.output<T>) {
  return { description, headers: answered(), content: { 'application/json': { schema, example: example as unknown } } }
}
