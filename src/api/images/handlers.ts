/** The routes of SQR-066, "Prepulling", "REST API". */
import type { OpenAPIHono } from '@hono/zod-openapi'
import type { Admission } from '../bounds/admit.ts'
import type { ApiEnv, ApiParts } from '../request/env.ts'
import { methodNotAllowed } from '../request/errors.ts'
import { imagesJson, prepullsJson } from './json.ts'
import { imageRoutes } from './routes.ts'

export function addImageRoutes(app: OpenAPIHono<ApiEnv>, { config, images }: ApiParts, { asAdmin }: Admission): void {
  const routes = imageRoutes(config)

  app.openapi({ ...routes.images, middleware: [asAdmin] as const }, async c => {
    // Read together, so that both are of the same catalogue, with one look at it.
    const [catalogue, { prepulled }] = await Promise.all([images.catalogue(), images.prepulls()])
    return c.json(imagesJson(catalogue, prepulled), 200)
  })

  app.openapi({ ...routes.prepulls, middleware: [asAdmin] as const }, async c => {
    return c.json(prepullsJson(config.images, await images.prepulls()), 200)
  })

  for (const { path } of Object.values(routes)) app.all(path, methodNotAllowed(['GET', 'HEAD']))
}
