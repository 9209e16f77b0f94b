/** The API tells of itself: `<prefix>/openapi.json`, made of the very routes that run. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import packageJson from '../../package.json' with { type: 'json' }
import type { ApiEnv, ApiParts } from './env.ts'
import { methodNotAllowed } from './errors.ts'
import { type ProblemName, type Refusal, refusals, underPrefix } from './problems.ts'
import type { DocumentRate } from './rates.ts'
import { json } from './routes.ts'
import { addSecuritySchemes } from './security.ts'

/** Answers that belong to no route of their own. */
const general = { NoSuchRoute: 'noRoute', MethodNotAllowed: 'wrongMethod' } as const satisfies Record<
  string,
  ProblemName
>

/** Adds the document's own route, which needs no token: nothing in it is secret. Of all routes, also of later ones. */
export function addDocumentRoute(
  app: OpenAPIHono<ApiEnv>,
  { config }: Pick<ApiParts, 'config'>,
  byRate: DocumentRate,
): void {
  const path = `${config.api.prefix}/openapi.json`
  addSecuritySchemes(app, config.identity)
  for (const [name, problem] of Object.entries(general)) {
    const [{ content, ...rest }] = Object.values(refusals([problem])) as [Refusal]
    const media = { ...content['application/json'], schema: { $ref: '#/components/schemas/Error' } }
    app.openAPIRegistry.registerComponent('responses', name, { ...rest, content: { 'application/json': media } })
  }
  // Made once, as bytes: it is large, and anybody may ask for it.
  let document: Uint8Array<ArrayBuffer> | undefined
  app.openapi({ ...documentRoute(path), middleware: [byRate] as const }, c => {
    document ??= new TextEncoder().encode(JSON.stringify(apiDocument(app)))
    return c.body(document, 200, { 'Content-Type': 'application/json' }) as never
  })
  app.all(path, methodNotAllowed(['GET', 'HEAD']))
}

/** The OpenAPI 3.1 document of all routes that an app has. */
export function apiDocument(app: OpenAPIHono<ApiEnv>) {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: { title: 'Skylab', version: packageJson.version, description },
    servers: [{ url: '/', description: 'this replica, or the balancer before it' }],
    tags: [
      { name: 'labs', description: 'The lab controller of SQR-066' },
      { name: 'images', description: 'What labs are made of, and which nodes have it' },
      { name: 'document', description: 'This document' },
    ],
  })
}

const documentForm = z.looseObject({ openapi: z.string(), info: z.looseObject({}), paths: z.looseObject({}) })

function documentRoute(path: string) {
  return createRoute({
    method: 'get',
    path,
    operationId: 'getDocument',
    tags: ['document'],
    summary: 'This document',
    responses: {
      200: json('OpenAPI 3.1', documentForm, { openapi: '3.1.0', info: {}, paths: {} }),
      ...refusals([...underPrefix, 'tooOften']),
    },
  })
}

const description = `A lab is a JupyterLab pod in a namespace of its user’s own; a user has one at most. Its creation and its deletion are
operations: they are accepted at once, and followed as a stream of events.

- Any replica answers any request, and says the same.
- Every error has one form: \`{"detail": [{"msg", "type", "loc"?}]}\`, one entry for each thing that is wrong.
- A path that no route has is answered 404 (\`#/components/responses/NoSuchRoute\`), a method that a route lacks 405 with \`Allow\`
  (\`#/components/responses/MethodNotAllowed\`). \`HEAD\` is answered as \`GET\` is, without the body.
- 429 and 503 say in \`Retry-After\` when to ask again.
- Every answer bears \`X-Request-ID\`: the one that was sent, or one of ours. What is no well-formed request has none.`
