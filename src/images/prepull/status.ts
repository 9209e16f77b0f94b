/** What `GET …/prepulls` tells of images and nodes (SQR-066). Pure. */

import type { Catalogue, CatalogueImage, NodeState, PrepullState, PrepullStatus } from '../catalogue/types.ts'
import {
  type ImageStanding,
  listedName,
  type PrepullRules,
  type PrepullWorld,
  standings,
  troubleWith,
} from './decide.ts'
import { whyIneligible } from './eligible.ts'
import { type NodeFacts, plainName } from './nodes.ts'

export interface StatusRules extends Pick<PrepullRules, 'installation' | 'placement'> {
  /** Registry and repository that labs are made of. */
  readonly repository: string
}

/** How the images that are to be on all nodes stand, and the nodes. */
export function prepullStatus(
  catalogue: Catalogue,
  world: Omit<PrepullWorld, 'sets' | 'nowMs'>,
  rules: StatusRules,
): PrepullStatus {
  const standing = standings(catalogue.prepull, world, rules)
  const states = standing.map(each => stateOf(each, world))
  return {
    prepulled: states.filter(({ missing }) => missing.length === 0),
    pending: states.filter(({ missing }) => missing.length > 0),
    // Made for who asks for it: of a thousand nodes it takes tens of milliseconds, and forms do without.
    get nodes() {
      return nodeStates(catalogue, world, standing, rules)
    },
  }
}

function stateOf(standing: ImageStanding, { pods }: Pick<PrepullWorld, 'pods'>): PrepullState {
  const { image, having, missing, failure } = standing
  const error = missing.length > 0 ? (failure?.error ?? troubleWith(standing, pods)) : undefined
  return {
    image: withSize(image, having),
    nodes: namesOf(having),
    missing: namesOf(missing),
    ...(error !== undefined && { error }),
  }
}

/** Where the registry does not tell how large an image is, a node may. */
function withSize(image: CatalogueImage, nodes: readonly NodeFacts[]): CatalogueImage {
  if (image.sizeBytes !== undefined) return image
  const listedAs = listedName(image)
  const sizes = nodes.values().map(({ imagesByName }) => imagesByName.get(listedAs)?.sizeBytes ?? 0)
  const sizeBytes = sizes.find(size => size > 0)
  return sizeBytes === undefined ? image : { ...image, sizeBytes }
}

const namesOf = (nodes: readonly NodeFacts[]) => nodes.map(({ name }) => name).sort()

function nodeStates(
  { all, prepull }: Catalogue,
  { nodes }: Pick<PrepullWorld, 'nodes'>,
  standing: readonly ImageStanding[],
  { placement, repository }: StatusRules,
): NodeState[] {
  const known = new Map([...all, ...prepull].map(image => [listedName(image), image.reference]))
  const pulled = new Map<NodeFacts, string[]>()
  for (const { having, image } of standing) {
    for (const node of having) pulled.set(node, [...(pulled.get(node) ?? []), image.reference])
  }
  const state = (node: NodeFacts): NodeState => {
    const comment = whyIneligible(node, placement)
    const cached = new Set([...(pulled.get(node) ?? []), ...listedBy(node, known, plainName(repository))])
    return {
      name: node.name,
      eligible: comment === undefined,
      ...(comment !== undefined && { comment }),
      cached: [...cached].sort(),
    }
  }
  return nodes.map(state).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * Images of the repository that a node lists, each once: as the catalogue calls it, else by its digest. The tag under
 * which a node knows an image may have moved since, so it counts only where there is no digest.
 */
function listedBy(node: NodeFacts, known: ReadonlyMap<string, string>, repository: string): string[] {
  return node.images.flatMap(({ names }) => {
    const ours = names.filter(name => name.startsWith(`${repository}@`) || name.startsWith(`${repository}:`))
    const called = ours.map(name => known.get(name)).find(reference => reference !== undefined)
    const digest = ours.find(name => name.startsWith(`${repository}@`))
    return called ?? digest ?? ours[0] ?? []
  })
}
