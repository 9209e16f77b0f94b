/** The routes of templates. */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Admission } from '../bounds/admit.ts'
import type { LargeAnswers } from '../bounds/large-answers.ts'
import { bearerAlone } from '../request/bearer-alone.ts'
import type { ApiEnv } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { withQuery } from '../request/query.ts'
import { type AppsApiParts, audiences } from './parts.ts'
import { templateChanges, templateRoutes } from './template-routes.ts'

export function addTemplateRoutes(
  app: OpenAPIHono<ApiEnv>,
  parts: AppsApiParts,
  admit: Admission,
  large: LargeAnswers,
): void {
  const { templates, config } = parts
  for (const audience of audiences) {
    const admitted: [typeof bearerAlone, Admission['asUser']] = [
      bearerAlone,
      audience === 'user' ? admit.asUser : admit.asAdmin,
    ]
    const routes = templateRoutes(audience, config)
    // Each may have a picture.
    app.openapi(
      { ...routes.list, middleware: [...admitted, withQuery] as const },
      c => large.answer(c, JSON.stringify(templates.list(c.req.valid('query')))) as never,
    )
    app.openapi({ ...routes.detail, middleware: admitted }, c => {
      const { detail, etag } = templates.find(c.req.valid('param').id)
      return large.answer(c, JSON.stringify(detail), { ETag: etag }) as never
    })
    app.all(routes.list.path, methodNotAllowed(['GET', 'HEAD']))
  }
  addChanges(app, parts, admit)
  const one = (audience: (typeof audiences)[number]) =>
    templateRoutes(audience, config).detail.path.replace('{id}', ':id')
  app.all(one('user'), methodNotAllowed(['GET', 'HEAD']))
  app.all(one('admin'), methodNotAllowed(['GET', 'HEAD', 'PUT', 'DELETE']))
}

function addChanges(app: OpenAPIHono<ApiEnv>, { templates, config }: AppsApiParts, admit: Admission): void {
  const routes = templateChanges(config)
  app.openapi({ ...routes.put, middleware: [bearerAlone, admit.asAdmin, admit.deepBody] as const }, async c => {
    const { 'if-match': ifMatch } = c.req.valid('header')
    const made = await templates.put(c.req.valid('param').id, c.req.valid('json'), c.get('caller'), ifMatch)
    return c.json(made.detail as never, made.isNew ? 201 : 200, { ETag: made.etag })
  })
  app.openapi({ ...routes.delete, middleware: [bearerAlone, admit.asAdmin] as const }, async c => {
    await templates.delete(c.req.valid('param').id, c.get('caller'), c.req.valid('header')['if-match'])
    return c.body(null, 204)
  })
}
