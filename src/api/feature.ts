/** A feature of an API. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Admission } from './bounds/admit.ts'
import type { DocumentWords } from './document/document.ts'
import type { ApiEnv, ApiParts } from './request/env.ts'
import type { EventStreams } from './sse/streams.ts'

/** Adds the routes of one feature. */
export type Mount = (app: OpenAPIHono<ApiEnv>, parts: ApiParts, admit: Admission, streams: EventStreams) => void

/** A feature that is not in every process: its module is loaded only where the configuration wants it. */
export interface Feature {
  readonly tags: DocumentWords['tags']
  readonly mount: Mount
}
