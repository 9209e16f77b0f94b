/** The routes of tenants. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import { ApiError } from '../../base/errors.ts'
import { noGrant, noTenant } from '../../sudo/sudo.ts'
import type { Admission } from '../bounds/admit.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { EventStreams } from '../sse/streams.ts'
import { sudoDraft } from './audit.ts'
import type { TenantsApiParts } from './parts.ts'
import { tenantRoutes } from './routes.ts'

export function addTenantRoutes(
  app: OpenAPIHono<ApiEnv>,
  parts: TenantsApiParts,
  { asUser, asChange, body }: Admission,
): void {
  const { config, tenants } = parts
  const { prefix } = config.api
  const routes = tenantRoutes(config)
  const asBearer: [typeof bearerAlone, typeof asUser] = [bearerAlone, asUser]

  app.openapi({ ...routes.list, middleware: asBearer }, c => c.json([...tenants.list(c.get('caller'))] as never, 200))

  app.openapi({ ...routes.detail, middleware: asBearer }, c => {
    const found = tenants.find(c.req.valid('param').name, c.get('caller'))
    if (!found) throw noTenant()
    return c.json(found as never, 200)
  })

  app.openapi({ ...routes.grant, middleware: [...asBearer, asChange, body] as const }, async c => {
    const wish = c.req.valid('json')
    const draft = sudoDraft(c)
    draft?.asked(wish)
    const grant = await tenants.grant(c.req.valid('param').name, c.get('caller'), wish)
    draft?.granted(grant)
    return c.json(grant, 202)
  })

  app.openapi({ ...routes.end, middleware: asBearer }, async c => {
    if (!(await tenants.end(c.req.valid('param').name, c.get('caller')))) throw noGrant()
    return c.body(null, 202)
  })

  const streams = new EventStreams(parts)
  app.openapi({ ...routes.events, middleware: asBearer }, c => {
    const { name } = c.req.valid('param')
    const caller = c.get('caller')
    const found = tenants.find(name, caller)
    const lastEventId = c.req.valid('header')['last-event-id']
    // After the end of the LNamespace nobody has a role in it, and every caller may read that it is gone.
    if (found && found.roles.length === 0) throw noRole()
    return streams.answer(c, {
      username: caller.username,
      open: signal => tenants.events(name, lastEventId, signal),
      missing: noTenant,
    })
  })

  app.all(prefix, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${prefix}/:name`, methodNotAllowed(['GET', 'HEAD']))
  app.all(`${prefix}/:name/sudo`, methodNotAllowed(['POST', 'DELETE']))
  app.all(`${prefix}/:name/events`, methodNotAllowed(['GET', 'HEAD']))
}

const noRole = (): ApiError => new ApiError(403, { msg: 'you have no role in this LNamespace', type: 'forbidden' })
