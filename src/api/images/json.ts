/** Images and prepulling as JSON (SQR-066, "Prepulling", "REST API", with the changes of docs/api.md). Pure. */
import type { z } from '@hono/zod-openapi'
import { repositoryOf } from '../../config/images.ts'
import type { Config } from '../../config/schema.ts'
import type { Catalogue, CatalogueImage, NodeState, PrepullState, PrepullStatus } from '../../images/catalogue/types.ts'
import { imageTypes } from '../../images/catalogue/types.ts'
import type { imageList, prepullStatus } from './schemas.ts'

export type ImagesJson = z.output<typeof imageList>
export type PrepullsJson = z.output<typeof prepullStatus>

/** A node with an image has it under all its tags, as far as digests are known. */
export function imagesJson({ types, all }: Catalogue, prepulled: readonly PrepullState[]): ImagesJson {
  const known = new Set(prepulled.flatMap(({ image }) => [image.reference, image.digest ?? image.reference]))
  const json = (image: CatalogueImage) => ({
    reference: image.reference,
    tag: image.tag,
    aliases: [...image.aliases],
    name: image.name,
    digest: image.digest,
    prepulled: known.has(image.digest ?? image.reference) || known.has(image.reference),
  })
  const byType = imageTypes.flatMap(type => (types[type] ? [[type, json(types[type])] as const] : []))
  return { ...Object.fromEntries(byType), all: all.map(json) }
}

export function prepullsJson(images: Config['images'], { prepulled, pending, nodes }: PrepullStatus): PrepullsJson {
  return {
    config: configJson(images),
    images: {
      prepulled: prepulled.map(prepulledJson),
      pending: pending.map(state => ({
        ...prepulledJson(state),
        missing: [...state.missing],
        ...(state.error !== undefined && { error: state.error }),
      })),
    },
    nodes: nodes.map(nodeJson),
  }
}

/** The keys of SQR-066, by its rule of names. Keys without a value and default are left out. */
function configJson(images: Config['images']): PrepullsJson['config'] {
  const { registry, gar, pins, cycle, aliasTags } = images
  return {
    registry,
    ...(gar
      ? {
          gar: {
            repository: gar.repository,
            image: gar.image,
            project_id: gar.projectId,
            location: gar.location,
          },
        }
      : { docker: { repository: repositoryOf(images) } }),
    recommended_tag: images.recommendedTag,
    num_releases: images.numReleases,
    num_weeklies: images.numWeeklies,
    num_dailies: images.numDailies,
    ...(pins.length > 0 && { pins: [...pins] }),
    ...(cycle !== null && { cycle }),
    ...(aliasTags.length > 0 && { alias_tags: [...aliasTags] }),
  }
}

function prepulledJson({ image, nodes }: PrepullState): PrepullsJson['images']['prepulled'][number] {
  const { reference, tag, name, digest, sizeBytes } = image
  return { reference, tag, name, digest, ...(sizeBytes !== undefined && { size: sizeBytes }), nodes: [...nodes] }
}

function nodeJson({ name, eligible, comment, cached }: NodeState): PrepullsJson['nodes'][number] {
  return { name, eligible, ...(!eligible && comment !== undefined && { comment }), cached: [...cached] }
}
