/** The routes of SQR-066, "Lab controller REST API", that concern labs. */
import { createRoute, type OpenAPIHono, type z } from '@hono/zod-openapi'
import { admit } from './admit.ts'
import { readJson } from './body.ts'
import { checkCreate } from './bounds.ts'
import type { ApiEnv, ApiParts } from './env.ts'
import { methodNotAllowed, noLab } from './errors.ts'
import { EventRoute } from './events.ts'
import { PerUserLimit } from './limits.ts'
import { createBody, createHeaders, errorBody, eventsHeaders, labStatus, userList, userPath } from './schemas.ts'
import { labStatusJson } from './status.ts'

export function addLabRoutes(app: OpenAPIHono<ApiEnv>, parts: ApiParts): void {
  const { config, labs } = parts
  const { prefix, limits } = config.api
  const requests = new PerUserLimit(limits.maxRequestsPerUser, 'requests')
  const { maxUsernameBytes } = limits
  const asUser = admit('user', { identity: parts.identity, requests, maxUsernameBytes })
  const asAdmin = admit('admin', { identity: parts.identity, requests, maxUsernameBytes })
  const routes = labRoutes(prefix)

  app.openapi({ ...routes.list, middleware: [asAdmin] as const }, async c => c.json(await labs.running(), 200))

  app.openapi({ ...routes.status, middleware: [asAdmin] as const }, async c => {
    return c.json(await statusOf(c.req.valid('param').username), 200)
  })

  app.openapi({ ...routes.ownStatus, middleware: [asUser] as const }, async c => {
    return c.json(await statusOf(c.get('caller').username), 200)
  })

  app.openapi({ ...routes.create, middleware: [asUser, readJson(limits)] as const }, async c => {
    const caller = c.get('caller')
    const request = c.req.valid('json')
    checkCreate(limits, request)
    await labs.create(caller, request, c.req.valid('header')['idempotency-key'])
    return c.body(null, 303, { Location: `${prefix}/labs/${encodeURIComponent(caller.username)}` })
  })

  app.openapi({ ...routes.remove, middleware: [asAdmin] as const }, async c => {
    if (!(await labs.delete(c.req.valid('param').username))) throw noLab('this user has no lab')
    return c.body(null, 202)
  })

  const events = new EventRoute(parts)
  app.openapi({ ...routes.events, middleware: [asUser] as const }, c =>
    events.answer(c, c.req.valid('param').username, c.req.valid('header')['last-event-id']),
  )

  app.all(`${prefix}/labs`, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${prefix}/labs/:username`, methodNotAllowed(['GET', 'HEAD', 'DELETE']))
  app.all(`${prefix}/labs/:username/create`, methodNotAllowed(['POST']))
  app.all(`${prefix}/labs/:username/events`, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${prefix}/user-status`, methodNotAllowed(['GET', 'HEAD']))

  async function statusOf(username: string) {
    const state = await labs.status(username)
    if (state === null) throw noLab('this user has no lab')
    return labStatusJson(state)
  }
}

/** The declarations of the routes, without what they do. */
function labRoutes(prefix: string) {
  return {
    list: createRoute({
      method: 'get',
      path: `${prefix}/labs`,
      summary: 'The users whose lab is running',
      responses: { 200: json('names, sorted', userList), ...errors },
    }),
    status: createRoute({
      method: 'get',
      path: `${prefix}/labs/{username}`,
      summary: 'The lab of a user',
      request: { params: userPath },
      responses: { 200: json('the lab', labStatus), ...errors },
    }),
    ownStatus: createRoute({
      method: 'get',
      path: `${prefix}/user-status`,
      summary: 'The lab of the caller',
      responses: { 200: json('the lab', labStatus), ...errors },
    }),
    create: createRoute({
      method: 'post',
      path: `${prefix}/labs/{username}/create`,
      summary: 'Create a lab for the caller',
      request: {
        params: userPath,
        headers: createHeaders,
        body: { required: true, content: { 'application/json': { schema: createBody } } },
      },
      responses: { 303: { description: 'accepted; Location is the lab' }, ...errors },
    }),
    remove: createRoute({
      method: 'delete',
      path: `${prefix}/labs/{username}`,
      summary: 'Stop and remove the lab of a user',
      request: { params: userPath },
      responses: { 202: { description: 'accepted' }, ...errors },
    }),
    events: createRoute({
      method: 'get',
      path: `${prefix}/labs/{username}/events`,
      summary: 'The events of the caller’s current operation',
      request: { params: userPath, headers: eventsHeaders },
      responses: {
        200: { description: 'server-sent events', content: { 'text/event-stream': {} } },
        204: { description: 'nothing will follow the event that was named' },
        ...errors,
      },
    }),
  }
}

function json<T extends z.ZodType>(description: string, schema: T) {
  return { description, content: { 'application/json': { schema } } }
}

const errors = { default: json('any other status', errorBody) }
