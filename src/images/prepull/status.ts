/** The answer of `GET …/prepulls` about images and nodes (SQR-066). Pure. */

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
  /** Registry and repository of labs' images. */
  readonly repository: string
}

/** The state of the images that all nodes should have, and of the nodes. */
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
    // Computed on demand: for a thousand nodes it takes tens of milliseconds, and forms do not need it.
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

/** The size of an image from the registry, else from a node. */
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
 * Images of the repository that a node lists, each once: by its name in the catalogue, else by its digest. A node's tag of an
 * image may have moved since, so it is used only without a digest.
 */
function listedBy(node: NodeFacts, known: ReadonlyMap<string, string>, repository: string): string[] {
  return node.images.flatMap(({ names }) => {
    const ours = names.filter(name => name.startsWith(`${repository}@`) || name.startsWith(`${repository}:`))
    const called = ours.map(name => known.get(name)).find(reference => reference !== undefined)
    const digest = ours.find(name => name.startsWith(`${repository}@`))
    return called ?? digest ?? ours[0] ?? []
  })
}
