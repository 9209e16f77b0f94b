/** Declares the routes of GraphQL; their handlers are in `graphql-handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import { bodyProblems, forAdmins, forCaller, type ProblemName, refusals } from '../document/problems.ts'
import { json } from '../document/responses.ts'
import { named, plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import { graphqlExample, graphqlQuery, graphqlWords } from './graphql-words.ts'
import { type AppAudience, type AppsApiParts, graphqlPaths } from './parts.ts'
import { scopes, suffixes } from './routes.ts'

const body = named(
  'GraphqlRequest',
  z.strictObject({
    query: z.string().min(1).max(16_384).describe('one query or mutation'),
    operationName: z.string().max(256).nullable().describe('is not needed').exactOptional(),
    variables: z.record(z.string(), z.unknown()).nullable().describe('its variables').exactOptional(),
    extensions: z.record(z.string(), z.unknown()).nullable().describe('is not read').exactOptional(),
  }),
  'input',
)

export type GraphqlBody = z.output<typeof body>

const problem = z.looseObject({
  message: z.string().describe('a text for people'),
  extensions: z
    .looseObject({
      code: z.string().describe('a word for programs'),
      status: z.number().describe('of REST'),
      detail: z.array(z.looseObject({})).describe('as REST has it').exactOptional(),
    })
    .describe('the error of REST')
    .exactOptional(),
})

const answer = named(
  'GraphqlAnswer',
  z.object({
    data: z.unknown().describe('by the names of the query; `null` where something was refused').optional(),
    errors: z.array(problem).describe('what was refused').exactOptional(),
  }),
)

const admitted = { user: forCaller, admin: forAdmins } as const

export function graphqlRoute(audience: AppAudience, { identity }: AppsApiParts['config']) {
  const problems: readonly ProblemName[] = [
    ...admitted[audience],
    'noBearer',
    'ofPage',
    ...bodyProblems,
    'badQueryText',
  ]
  return createRoute({
    ...{ method: 'post', path: graphqlPaths[audience], operationId: `askGraphql${suffixes[audience]}` },
    ...{ tags: ['graphql'], security: requires(identity, scopes[audience]) },
    ...{ summary: 'A query or a mutation', description: graphqlWords },
    request: {
      headers: plainHeaders,
      body: { required: true, content: { 'application/json': { schema: body, example: { query: graphqlQuery } } } },
    },
    responses: { 200: json('the answer', answer, graphqlExample), ...refusals(problems) },
  })
}
