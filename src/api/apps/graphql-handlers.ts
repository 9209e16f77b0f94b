/** The routes of GraphQL: PrimeHub's clients speak to the same service as REST. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { type DocumentNode, type ExecutionArgs, type ExecutionResult, execute, GraphQLError } from 'graphql'
import { createHandler } from 'graphql-http'
import type { Context } from 'hono'
import { ApiError } from '../../base/errors.ts'
import { trustIn } from '../../base/source.ts'
import type { GraphqlResult } from '../../telemetry/app-api-metrics.ts'
import type { Admission } from '../bounds/admit.ts'
import type { LargeAnswers } from '../bounds/large-answers.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { errorBodyOf, methodNotAllowed, toApiError } from '../request/errors.ts'
import { whence } from '../request/whence.ts'
import { AppDraft } from './audit.ts'
import { parseBounded } from './graphql-bounds.ts'
import { type GraphqlCall, graphqlRoot } from './graphql-root.ts'
import { type GraphqlBody, graphqlRoute } from './graphql-routes.ts'
import { graphqlSchema } from './graphql-schema.ts'
import { AnswerSize, mostAnswerBytes } from './graphql-size.ts'
import { type AppAudience, type AppsApiParts, audiences, graphqlPaths } from './parts.ts'

export function addGraphqlRoutes(
  app: OpenAPIHono<ApiEnv>,
  parts: AppsApiParts,
  admit: Admission,
  large: LargeAnswers,
): void {
  const root = graphqlRoot(parts)
  app.use(graphqlPaths.user, admit.bounded)
  for (const audience of audiences) {
    const admitted = audience === 'user' ? admit.asUser : admit.asAdmin
    const read = audience === 'user' ? admit.body : admit.deepBody
    const route = graphqlRoute(audience, parts.config)
    app.openapi({ ...route, middleware: [bearerAlone, admitted, read] as const }, async c => {
      const call = callOf(c, audience, parts, admit)
      const { text, operation, result } = await answered(c, c.req.valid('json'), root, call)
      parts.appMetrics.graphql.inc({ operation: operation ?? 'none', result })
      // An answer of 200 is no fault of HTTP, and this one is a defect all the same.
      if (result === 'failed') parts.metrics.httpFaults.inc({ reason: 'defect' })
      return (operation === 'mutation' ? large.answerAnyway(c, text) : large.answer(c, text)) as never
    })
    app.all(route.path, methodNotAllowed(['POST']))
  }
}

async function answered(
  c: Context<ApiEnv>,
  sent: GraphqlBody,
  rootValue: ReturnType<typeof graphqlRoot>,
  call: GraphqlCall,
): Promise<Answered> {
  let operation: Answered['operation']
  let result: GraphqlResult = 'refused'
  const handle = createHandler({
    schema: graphqlSchema,
    parse: source => {
      const document = parseBounded(String(source))
      operation = operationOf(document)
      return document
    },
    context: () => call as never,
    rootValue,
    execute: async asked => {
      const { answer, isTooLarge } = await bounded(asked)
      result = isTooLarge ? 'large' : resultOf(answer)
      return answer
    },
    formatError: error => shownError(error, c),
  })
  // The body is read and checked already: the library gets what the checks have seen.
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  const [text] = await handle({ method: 'POST', url: '/', headers, body: sent, raw: undefined, context: undefined })
  return { text: text ?? '{}', operation, result }
}

interface Answered {
  readonly text: string
  /** Undefined: the text is no query. */
  readonly operation: 'query' | 'mutation' | undefined
  readonly result: GraphqlResult
}

function operationOf({ definitions }: DocumentNode): Answered['operation'] {
  const named = definitions.map(each => ('operation' in each ? each.operation : undefined))
  return (['mutation', 'query'] as const).find(each => named.includes(each as never))
}

function resultOf({ errors = [] }: ExecutionResult): GraphqlResult {
  if (errors.some(isDefect)) return 'failed'
  return errors.length > 0 ? 'partly' : 'done'
}

/** Whether an error of a field is neither the client's nor one of REST. */
const isDefect = ({ originalError: cause }: GraphQLError): boolean =>
  cause !== undefined && !(cause instanceof GraphQLError) && !toApiError(cause)

async function bounded(asked: ExecutionArgs) {
  const size = new AnswerSize()
  const result = await execute({ ...asked, fieldResolver: size.resolve })
  const { isTooLarge } = size
  return { isTooLarge, answer: isTooLarge ? { errors: [new GraphQLError('', { originalError: tooLarge() })] } : result }
}

const tooLarge = (): ApiError =>
  new ApiError(422, {
    msg: `the answer would have more than ${mostAnswerBytes} bytes: ask for less at once`,
    type: 'invalid',
    loc: ['body', 'query'],
  })

/** An error of a query is the client's; one of a field is that of REST; any other is ours, and its words are for the log alone. */
function shownError(error: Readonly<Error>, c: Context<ApiEnv>): GraphQLError {
  const of = error instanceof GraphQLError ? error : new GraphQLError(error.message, { originalError: error })
  const cause = of.originalError
  if (!cause || cause instanceof GraphQLError) return of
  const path = of.path && { path: of.path }
  const known = toApiError(cause)
  if (!known) {
    c.get('log').error({ err: cause }, 'a field of GraphQL failed')
    return new GraphQLError('internal error', { extensions: { code: 'INTERNAL', status: 500 }, ...path })
  }
  const code = (known.detail[0]?.type ?? 'internal').toUpperCase()
  return new GraphQLError(known.message, { extensions: { code, status: known.status, ...errorBodyOf(known) }, ...path })
}

function callOf(
  c: Context<ApiEnv>,
  audience: AppAudience,
  { config, auditor }: AppsApiParts,
  { rates }: Admission,
): GraphqlCall {
  const caller = c.get('caller')
  const from = whence(c, trustIn(config.audit.trustedProxies))
  let isFirst = true
  return {
    asker: { caller, audience },
    charge: kind => {
      // The request itself was charged as one read.
      const isPaid = kind === 'read' && isFirst
      isFirst = false
      if (!isPaid) rates.take(kind, caller)
    },
    audited: async (action, object, act) => {
      const draft = new AppDraft({ action, from, object }, audience, config.identity.provider, c.get('origin'))
      draft.identified(caller)
      try {
        const result = await act()
        auditor.request(draft.line(200, undefined))
        return result
      } catch (error) {
        auditor.request(draft.line(toApiError(error)?.status ?? 500, error as Error))
        throw error
      }
    },
  }
}
