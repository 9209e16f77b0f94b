/** What routes about images give out, as schemas (SQR-066, "Prepulling", "REST API"). */
import { z } from '@hono/zod-openapi'
import { named } from './schemas.ts'

const reference = z.string().describe('registry, repository and tag')
const tag = z.string()
const name = z.string().min(1).describe('for people')
const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .nullable()
  .describe('null when it is not known')

const image = z.object({
  reference,
  tag,
  aliases: z.array(z.string()).describe('other tags that are known to be of the same image'),
  name,
  digest,
  prepulled: z.boolean().describe('whether all nodes that should have it do'),
})

/** What `GET …/images` gives. */
export const imageList = named(
  'Images',
  z.object({
    recommended: image.exactOptional(),
    'latest-weekly': image.exactOptional(),
    'latest-daily': image.exactOptional(),
    'latest-release': image.exactOptional(),
    all: z.array(image).describe('every image that is known, the newest of each kind first'),
  }),
)

const count = z.number().int().min(0)

/** As they are configured, without what has no meaning for it. */
const config = z.object({
  registry: z.string(),
  docker: z.object({ repository: z.string() }).exactOptional(),
  gar: z
    .object({ repository: z.string(), image: z.string(), project_id: z.string(), location: z.string() })
    .exactOptional(),
  recommended_tag: tag,
  num_releases: count,
  num_weeklies: count,
  num_dailies: count,
  pins: z.array(tag).exactOptional(),
  cycle: count.exactOptional(),
  alias_tags: z.array(tag).exactOptional(),
})

const nodeNames = z.array(z.string())

const prepulled = z.object({
  reference,
  tag,
  name,
  digest,
  size: z.number().int().min(0).exactOptional().describe('bytes, compressed; absent when it is not known'),
  nodes: nodeNames.describe('that have it'),
})

const pending = prepulled.extend({
  missing: nodeNames.describe('that should have it, and do not'),
  error: z.string().exactOptional().describe('why the last attempt failed'),
})

const node = z.object({
  name: z.string(),
  eligible: z.boolean(),
  comment: z.string().exactOptional().describe('why it is not eligible'),
  cached: z.array(z.string()).describe('references of images of the configured repository that it has'),
})

/** What `GET …/prepulls` gives. */
export const prepullStatus = named(
  'Prepulls',
  z.object({
    config: config.describe('the block `images` of the configuration'),
    images: z.object({
      prepulled: z.array(prepulled).describe('on all nodes that should have them'),
      pending: z.array(pending).describe('still to be pulled by some node'),
    }),
    nodes: z.array(node),
  }),
)
