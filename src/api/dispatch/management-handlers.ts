/** The routes of operators. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Admission } from '../bounds/admit.ts'
import type { LargeAnswers } from '../bounds/large-answers.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { withQuery } from '../request/query.ts'
import { dispatchDraft } from './audit.ts'
import { admitOperator, required, withForm } from './management-admit.ts'
import {
  behaviorRoute,
  behaviors,
  containerKill,
  containerReads,
  instanceKill,
  instanceReads,
  managementTokenScheme,
} from './management-routes.ts'
import type { DispatchApiParts } from './parts.ts'

export function addManagementRoutes(
  app: OpenAPIHono<ApiEnv>,
  { management, managementToken }: Pick<DispatchApiParts, 'management' | 'managementToken'>,
  admit: Admission,
  large: LargeAnswers,
): void {
  const admitted: [typeof bearerAlone, ReturnType<typeof admitOperator>] = [
    bearerAlone,
    admitOperator(managementToken, admit),
  ]
  app.openAPIRegistry.registerComponent('securitySchemes', 'managementToken', managementTokenScheme)
  const refuseOthers = (path: string, allowed: readonly string[]) => app.all(path, methodNotAllowed(allowed))

  app.openapi({ ...containerReads.list, middleware: admitted }, async c => {
    return large.answer(c, JSON.stringify(await management.containers())) as never
  })
  app.openapi({ ...containerReads.one, middleware: [...admitted, withQuery] as const }, async c => {
    const uuid = required('container_uuid', c.req.valid('query').container_uuid)
    return c.json((await management.container(uuid)) as never, 200)
  })
  app.openapi({ ...containerKill, middleware: [...admitted, withQuery, withForm] as const }, async c => {
    const { container_uuid, reason = '' } = c.req.valid('query')
    dispatchDraft(c)?.names(container_uuid ?? '', reason)
    await management.killContainer(required('container_uuid', container_uuid), reason)
    return c.body(null, 200)
  })
  app.openapi({ ...instanceReads, middleware: admitted }, async c => {
    return large.answer(c, JSON.stringify({ items: await management.instances() })) as never
  })
  for (const behavior of behaviors) {
    const route = behaviorRoute(behavior)
    app.openapi({ ...route, middleware: [...admitted, withQuery, withForm] as const }, async c => {
      const { instance_id } = c.req.valid('query')
      dispatchDraft(c)?.names(instance_id ?? '')
      const stands = await management.setBehavior(required('instance_id', instance_id), behavior)
      return c.body(null, stands ? 200 : 202)
    })
    refuseOthers(route.path, ['POST'])
  }
  app.openapi({ ...instanceKill, middleware: [...admitted, withQuery, withForm] as const }, async c => {
    const { instance_id, reason = '' } = c.req.valid('query')
    dispatchDraft(c)?.names(instance_id ?? '', reason)
    await management.killInstance(required('instance_id', instance_id), reason)
    return c.body(null, 200)
  })
  for (const { path } of [containerReads.list, containerReads.one, instanceReads]) refuseOthers(path, ['GET', 'HEAD'])
  for (const { path } of [containerKill, instanceKill]) refuseOthers(path, ['POST'])
}
