/** The routes of the logs of apps' pods. */
import { createRoute, type OpenAPIHono, z } from '@hono/zod-openapi'
import type { Admission } from '../bounds/admit.ts'
import { fixedHeaders } from '../document/headers.ts'
import { filterProblems, forApps, refusals } from '../document/problems.ts'
import { answered } from '../document/responses.ts'
import { plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { withQuery } from '../request/query.ts'
import { LogStreams, logHeaders } from './log-streams.ts'
import { type AppAudience, type AppsApiParts, audiences, logsPaths } from './parts.ts'
import { scopes, suffixes } from './routes.ts'

const name = (most: number) =>
  z.string().regex(new RegExp(`^[a-z0-9]([-a-z0-9.]{0,${most - 2}}[a-z0-9])?$`), { error: 'is no name in the cluster' })

const params = z.object({
  pod: name(253).openapi({ description: 'the name of the pod', example: 'app-mlflow-7c9d5b6f4-x2x8k' }),
})
const notANumber = 'is not a number from 0 to 1000000'
const query = z.strictObject({
  follow: z
    .enum(['true', 'false'])
    .optional()
    .openapi({ description: 'whether it goes on with what the container says later', example: 'true' }),
  tailLines: z
    .string()
    .regex(/^(0|[1-9][0-9]{0,6})$/, { error: notANumber })
    .transform(Number)
    .refine(lines => lines <= 1_000_000, { error: notANumber })
    .optional()
    .openapi({ type: 'integer', minimum: 0, maximum: 1_000_000, description: 'only the last lines', example: 100 }),
  container: name(63).optional().openapi({ description: 'the container; default: the first', example: 'mlflow' }),
})

const words = `What the container of an app's pod writes, as text, as it comes. The pod must belong to an app by all of its owners: labels and names
are believed of nobody. The names of an app's pods are at \`apps/{id}/pods\`.

It ends with the container, with \`follow\` after \`api.limits.maxLogSeconds\`. Beyond \`api.limits.maxLogBytes\`, or if nobody reads, the
connection is cut.`

export function logRoute(audience: AppAudience, { identity }: AppsApiParts['config']) {
  return createRoute({
    ...{ method: 'get', path: `${logsPaths[audience]}/{pod}`, operationId: `readLog${suffixes[audience]}` },
    ...{ tags: ['apps'], security: requires(identity, scopes[audience]) },
    ...{ summary: 'The log of a pod', description: words },
    request: { params, headers: plainHeaders, query },
    responses: {
      200: {
        description: 'the log',
        headers: answered(fixedHeaders(logHeaders)),
        content: { 'text/plain': { schema: z.string(), example: 'Listening at: http://0.0.0.0:5000\n' } },
      },
      ...refusals([
        ...([...forApps[audience], ...filterProblems, 'badPodName', 'noPod', 'noLogYet'] as const),
        ...(['tooManyLogs', 'crowdedLogs'] as const),
      ]),
    },
  })
}

export function addLogRoutes(app: OpenAPIHono<ApiEnv>, parts: AppsApiParts, admit: Admission): void {
  const streams = new LogStreams(parts)
  app.use(`${logsPaths.user}/*`, admit.bounded)
  for (const audience of audiences) {
    const admitted = audience === 'user' ? admit.asUser : admit.asAdmin
    const route = logRoute(audience, parts.config)
    app.openapi({ ...route, middleware: [bearerAlone, admitted, withQuery] as const }, async c => {
      const { follow, ...wish } = c.req.valid('query')
      const asked = { ...wish, pod: c.req.valid('param').pod, follow: follow === 'true' }
      const log = await parts.logs.find(asked, { caller: c.get('caller'), audience })
      const mayRead = async () => {
        const caller = await admit.again(c, audience)
        return caller !== undefined && log.mayRead(caller)
      }
      return (await streams.answer(c, { ...log, mayRead })) as never
    })
    app.all(route.path.replace('{pod}', ':pod'), methodNotAllowed(['GET', 'HEAD']))
  }
}
