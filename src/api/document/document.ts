/** The API's own description: `<prefix>/openapi.json`, generated from its routes. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import packageJson from '../../../package.json' with { type: 'json' }
import type { DocumentRate } from '../bounds/rates.ts'
import type { ApiEnv, CommonParts } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { withComponents } from './components.ts'
import { forAll, type ProblemName, type Refusal, refusals } from './problems.ts'
import { json } from './responses.ts'
import { addSecuritySchemes } from './security.ts'

/** Answers without an operation: for an unknown path, and for a method that a route lacks. */
const general = ['noSuchRoute', 'methodNotAllowed'] as const satisfies ProblemName[]

/**
 * Adds the document's own route, which needs no token, since nothing in it is secret. It includes routes added later.
 */
export function addDocumentRoute(
  app: OpenAPIHono<ApiEnv>,
  { config }: Pick<CommonParts, 'config'>,
  byRate: DocumentRate,
  words: DocumentWords = labsWords,
): void {
  const path = `${config.api.prefix}/openapi.json`
  addSecuritySchemes(app, config.identity)
  // Encoded once: it is large, and every client may request it.
  let document: Uint8Array<ArrayBuffer> | undefined
  app.openapi({ ...documentRoute(path), middleware: [byRate] as const }, c => {
    document ??= new TextEncoder().encode(JSON.stringify(apiDocument(app, words)))
    return c.body(document, 200, { 'Content-Type': 'application/json' }) as never
  })
  app.all(path, methodNotAllowed(['GET', 'HEAD']))
}

/** The OpenAPI 3.1 document of all routes that an app has. */
export function apiDocument(app: OpenAPIHono<ApiEnv>, { title, description, tags }: DocumentWords = labsWords) {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title, version: packageJson.version, description },
    servers: [{ url: '/', description: 'this replica, or the balancer before it' }],
    tags: [...tags, { name: 'document', description: 'This document' }],
    'x-without-operation': withoutOperation(),
  })
  return withHeaderNames(withComponents(document))
}

/** By status. They are no components, since no operation can refer to them. */
function withoutOperation(): Record<string, object> {
  const all = Object.entries(refusals(general)) as [string, Refusal][]
  return Object.fromEntries(
    all.map(([status, { description, headers, content }]) => {
      const media = { ...content['application/json'], schema: { $ref: '#/components/schemas/ErrorBody' } }
      return [status, { description, headers, content: { 'application/json': media } }]
    }),
  )
}

/** The usual spelling; the framework knows headers of requests in lower case only. */
const headerNames: Readonly<Record<string, string>> = {
  'idempotency-key': 'Idempotency-Key',
  'if-match': 'If-Match',
  'last-event-id': 'Last-Event-ID',
  prefer: 'Prefer',
  'x-request-id': 'X-Request-ID',
}

function withHeaderNames<Document extends { paths?: object }>(document: Document): Document {
  for (const methods of Object.values(document.paths ?? {}) as Record<string, { parameters?: Parameter[] }>[]) {
    for (const { parameters = [] } of Object.values(methods)) {
      for (const parameter of parameters) {
        if (parameter.in === 'header') parameter.name = headerNames[parameter.name] ?? parameter.name
      }
    }
  }
  return document
}

interface Parameter {
  readonly in: string
  name: string
}

const documentForm = z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) })

function documentRoute(path: string) {
  return createRoute({
    method: 'get',
    path,
    operationId: 'getDocument',
    tags: ['document'],
    summary: 'This document',
    description: 'It needs no token. It describes the routes of the release that answers.',
    security: [],
    responses: {
      200: json('OpenAPI 3.1', documentForm, { openapi: '3.1.0', info: {}, paths: {} }),
      ...refusals(forAll),
    },
  })
}

/** What a document says of its routes as a whole. */
export interface DocumentWords {
  readonly title: string
  readonly description: string
  /** Those of its routes, in order. */
  readonly tags: readonly { readonly name: string; readonly description: string }[]
}

/** Of every API. */
export const commonWords = `- Every replica answers every request, and all replicas give the same answers.
- Every error has one form: \`{"detail": [{"msg", "type", "loc"?}]}\`, with one entry for each problem.
- A path that no route has is answered 404, a method that a route lacks 405 with \`Allow\` (\`x-without-operation\`). \`HEAD\` is answered as \`GET\` is, without the body.
- 429 and 503 say in \`Retry-After\` when to ask again.
- Every answer has \`X-Request-ID\`: the value that was sent, or a new one. An answer to a request that is not well-formed has none.`

const description = `A lab is a JupyterLab pod in a namespace of its own. A user has one lab at most. The creation and the deletion of a
lab are operations: the server accepts an operation at once, and reports it as a stream of events.

${commonWords}
- **A create is answered 303, and clients should not follow it**: see \`createLab\`.
- An event stream is read with a library for server-sent events, not with a generated client: see \`followEvents\`.`

export const labsWords: DocumentWords = {
  ...{ title: 'Skylab', description },
  tags: [
    { name: 'labs', description: 'The lab controller of SQR-066' },
    { name: 'images', description: 'The images of labs, and the nodes that have them' },
  ],
}
