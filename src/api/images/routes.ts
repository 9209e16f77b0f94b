/** Declares the routes about images (SQR-066, "Prepulling", "REST API"); their handlers are in `handlers.ts`. */
import { createRoute, type z } from '@hono/zod-openapi'
import { forAdmins, refusals } from '../document/problems.ts'
import { json } from '../document/responses.ts'
import { plainHeaders } from '../document/schemas.ts'
import { requires } from '../document/security.ts'
import type { ApiParts } from '../request/env.ts'
import { imageList, prepullStatus } from './schemas.ts'

const tags = ['images']

export function imageRoutes({ api, identity }: Pick<ApiParts['config'], 'api' | 'identity'>) {
  const common = {
    method: 'get',
    tags,
    security: requires(identity, 'admin:jupyterlab'),
    request: { headers: plainHeaders },
  } as const
  return {
    images: createRoute({
      ...common,
      path: `${api.prefix}/images`,
      operationId: 'listImages',
      summary: 'The images that labs can be made of',
      description: imagesWords,
      responses: {
        200: json('the image of each type, and all images', imageList, imagesExample),
        ...refusals(forAdmins),
      },
    }),
    prepulls: createRoute({
      ...common,
      path: `${api.prefix}/prepulls`,
      operationId: 'getPrepulls',
      summary: 'The images on the nodes',
      description: prepullsWords,
      responses: { 200: json('images and nodes', prepullStatus, prepullsExample), ...refusals(forAdmins) },
    }),
  }
}

const imagesWords = `The images of the registry, as a replica last read them. The names of the types are those that \`image_type\` accepts; a type
that no image has is left out.`

const prepullsWords = `The images that should be on all nodes that labs can run on, before anybody asks for them. A pull that failed stays in
\`pending\` with its \`error\` until it is tried again.`

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
const weekly = {
  reference: 'registry.hub.docker.com/lsstsqre/sciplat-lab:w_2026_02',
  tag: 'w_2026_02',
  name: 'Weekly 2026_02',
  digest,
}
const recommended = {
  reference: 'registry.hub.docker.com/lsstsqre/sciplat-lab:recommended',
  tag: 'recommended',
  name: 'Recommended (Weekly 2026_02)',
  digest,
}
const daily = {
  reference: 'registry.hub.docker.com/lsstsqre/sciplat-lab:d_2026_01_12',
  tag: 'd_2026_01_12',
  name: 'Daily 2026_01_12',
  digest: null,
}

const imagesExample: z.output<typeof imageList> = {
  recommended: { ...recommended, aliases: ['w_2026_02'], prepulled: true },
  'latest-weekly': { ...weekly, aliases: ['recommended'], prepulled: true },
  'latest-daily': { ...daily, aliases: [], prepulled: false },
  all: [
    { ...weekly, aliases: ['recommended'], prepulled: true },
    { ...daily, aliases: [], prepulled: false },
  ],
}

const prepullsExample: z.output<typeof prepullStatus> = {
  config: {
    registry: 'registry.hub.docker.com',
    docker: { repository: 'lsstsqre/sciplat-lab' },
    recommended_tag: 'recommended',
    num_releases: 1,
    num_weeklies: 2,
    num_dailies: 3,
  },
  images: {
    prepulled: [{ ...recommended, size: 4_294_967_296, nodes: ['node-1', 'node-2'] }],
    pending: [{ ...daily, nodes: ['node-1'], missing: ['node-2'] }],
  },
  nodes: [
    { name: 'node-1', eligible: true, cached: [recommended.reference, daily.reference] },
    { name: 'node-2', eligible: true, cached: [recommended.reference] },
    { name: 'node-3', eligible: false, comment: 'it is cordoned', cached: [] },
  ],
}
