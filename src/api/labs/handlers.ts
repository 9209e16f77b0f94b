/** The routes of SQR-066, "Lab controller REST API", that concern labs. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { createMiddleware } from 'hono/factory'
import { getsToken, requireNoAdministrator } from '../../labs/token.ts'
import type { Admission } from '../bounds/admit.ts'
import { checkCreate } from '../bounds/create.ts'
import { limitCreates } from '../bounds/rates.ts'
import type { ApiEnv, ApiParts } from '../request/env.ts'
import { methodNotAllowed, noLab, noOwnLab } from '../request/errors.ts'
import type { EventStreams } from '../sse/streams.ts'
import { labStatusJson } from './json.ts'
import { prefersMinimal } from './prefer.ts'
import { labLocation, labRoutes } from './routes.ts'

export function addLabRoutes(
  app: OpenAPIHono<ApiEnv>,
  parts: ApiParts,
  { asUser, asAdmin, rates, body }: Admission,
  streams: EventStreams,
): void {
  const { config, labs, identity } = parts
  const { prefix, limits } = config.api
  const routes = labRoutes(config)

  app.openapi({ ...routes.list, middleware: [asAdmin] as const }, async c => c.json(await labs.running(), 200))

  app.openapi({ ...routes.status, middleware: [asAdmin] as const }, async c => {
    return c.json(await statusOf(c.req.valid('param').username), 200)
  })

  app.openapi({ ...routes.ownStatus, middleware: [asUser] as const }, async c => {
    return c.json(await statusOf(c.get('caller').username, noOwnLab), 200)
  })

  const announced = createMiddleware<ApiEnv>(function announced(_, next) {
    labs.announce()
    return next()
  })
  const byRate = limitCreates({ rates, labs, limits })
  app.openapi({ ...routes.create, middleware: [asUser, byRate, announced, body] as const }, async c => {
    const caller = c.get('caller')
    const request = c.req.valid('json')
    checkCreate(limits, request)
    if (getsToken(config)) requireNoAdministrator((await identity.scopesOf?.(caller)) ?? caller.scopes)
    const key = c.req.valid('header')['idempotency-key']
    const accepted = await labs.create(caller, request, c.get('origin'), key)
    if (accepted === 'repeated') c.get('onRepeated')?.()
    const headers = { Location: labLocation(config.api, caller.username) }
    if (!prefersMinimal(c.req.valid('header').prefer)) return c.body(null, 303, headers)
    return c.body(null, 201, { ...headers, 'Preference-Applied': 'return=minimal' })
  })

  app.openapi({ ...routes.remove, middleware: [asAdmin, announced] as const }, async c => {
    if (!(await labs.delete(c.req.valid('param').username, c.get('origin')))) throw noLab('this user has no lab')
    return c.body(null, 202)
  })

  app.openapi({ ...routes.events, middleware: [asUser] as const }, c => {
    const { username } = c.req.valid('param')
    const lastEventId = c.req.valid('header')['last-event-id']
    return streams.answer(c, {
      username,
      open: signal => labs.events(username, lastEventId, signal),
      missing: () => noLab('this user has no events'),
    })
  })

  app.all(`${prefix}/labs`, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${prefix}/labs/:username`, methodNotAllowed(['GET', 'HEAD', 'DELETE']))
  app.all(`${prefix}/labs/:username/create`, methodNotAllowed(['POST']))
  app.all(`${prefix}/labs/:username/events`, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${prefix}/user-status`, methodNotAllowed(['GET', 'HEAD']))

  async function statusOf(username: string, missing = noLab) {
    const state = await labs.status(username)
    if (state === null) throw missing('this user has no lab')
    return labStatusJson(state)
  }
}
