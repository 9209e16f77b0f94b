/** Schemas of answers about images (SQR-066, "Prepulling", "REST API"). */
import { z } from '@hono/zod-openapi'
import { component } from '../document/components.ts'
import { named } from '../document/schemas.ts'

const reference = z.string().describe('registry, repository and tag')
const tag = z.string().describe('the tag alone')
const name = z.string().min(1).describe('for people')
const digest = z
  .string()
  .regex(/^sha256:[0-9a-f]{64}$/)
  .nullable()
  .describe('null when it is not known')

const image = component(
  'Image',
  z.object({
    reference,
    tag,
    aliases: z.array(z.string()).describe('other tags that are known to be of the same image'),
    name,
    digest,
    prepulled: z.boolean().describe('whether all nodes that should have it do'),
  }),
  'an image that labs can be made of',
)

/** The answer of `GET …/images`. */
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

/** The configured values, without keys that have no meaning. */
const config = component(
  'ImagesConfig',
  z.object({
    registry: z.string().describe('host of the registry'),
    docker: z
      .object({ repository: z.string().describe('repository of the images') })
      .exactOptional()
      .describe('where the images are, in a registry that speaks Docker’s API'),
    gar: z
      .object({
        repository: z.string().describe('repository of the images'),
        image: z.string().describe('name of the image'),
        project_id: z.string().describe('project that the repository belongs to'),
        location: z.string().describe('region or multi-region of the repository'),
      })
      .exactOptional()
      .describe('where the images are, in Google Artifact Registry'),
    recommended_tag: tag.describe('the tag of the recommended image'),
    num_releases: count.describe('how many releases are prepulled'),
    num_weeklies: count.describe('how many weeklies are prepulled'),
    num_dailies: count.describe('how many dailies are prepulled'),
    pins: z.array(tag).exactOptional().describe('tags that are prepulled in any case'),
    cycle: count.exactOptional().describe('the cycle that images must have to be prepulled'),
    alias_tags: z.array(tag).exactOptional().describe('tags that are other names of an image'),
  }),
  'the block `images` of the configuration',
)

const nodeNames = z.array(z.string())

const prepulled = z.object({
  reference,
  tag,
  name,
  digest,
  size: z.number().int().min(0).exactOptional().describe('bytes, compressed; absent when it is not known'),
  nodes: nodeNames.describe('names of the nodes that have it'),
})

const pending = prepulled.extend({
  missing: nodeNames.describe('names of the nodes that should have it, and do not'),
  error: z.string().exactOptional().describe('why the last attempt failed'),
})

const node = component(
  'Node',
  z.object({
    name: z.string().describe('the node’s name'),
    eligible: z.boolean().describe('whether labs may run on it'),
    comment: z.string().exactOptional().describe('why it is not eligible'),
    cached: z.array(z.string()).describe('references of the images of the configured repository that it has'),
  }),
  'a node of the cluster',
)

/** The answer of `GET …/prepulls`. */
export const prepullStatus = named(
  'Prepulls',
  z.object({
    config,
    images: z
      .object({
        prepulled: z
          .array(component('PrepulledImage', prepulled, 'an image that all nodes have that should have it'))
          .describe('on all nodes that should have them'),
        pending: z
          .array(component('PendingImage', pending, 'an image that some node lacks'))
          .describe('still to be pulled by some node'),
      })
      .describe('the images that should be on all nodes'),
    nodes: z.array(node).describe('all nodes of the cluster'),
  }),
)
