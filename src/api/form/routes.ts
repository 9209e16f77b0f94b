/** Declares the route of SQR-066, "GET …/lab-form/<username>"; its handler is in `handlers.ts`. */
import { createRoute, z } from '@hono/zod-openapi'
import { fixedHeaders } from '../document/headers.ts'
import { forUsers, refusals } from '../document/problems.ts'
import { answered } from '../document/responses.ts'
import { plainHeaders, userPath } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { ApiParts } from '../request/env.ts'

/** The offer depends on the user and on nodes, so it must not be cached. */
export const formHeaders = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' }

export function formRoute({ api, lab, identity }: ApiParts['config']) {
  const { prefix, limits } = api
  return createRoute({
    method: 'get',
    path: `${prefix}/lab-form/{username}`,
    operationId: 'getLabForm',
    tags: ['labs'],
    summary: 'The form in which the caller chooses a lab',
    description,
    security: requires(identity, 'exec:notebook'),
    request: { params: userPath({ sizes: Object.keys(lab.sizes), limits }), headers: plainHeaders },
    responses: {
      200: {
        description: 'a fragment of HTML, to be put inside a form element; what it posts are `options` of a create',
        headers: answered(fixedHeaders(formHeaders)),
        content: { 'text/html': { schema: z.string(), example: '<div class="skylab-form">…</div>' } },
      },
      ...refusals(forUsers),
    },
  })
}

const description = `The form offers the images and sizes that the groups and the quota of the caller permit. A user who may not have a lab
gets a fragment that says why. While the list of images is not available, the form offers the recommended image alone.`
