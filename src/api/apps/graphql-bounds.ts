/** Bounds a query before anything is done with it: its text, its depth, its fields and its aliases. Pure. */
import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  parse,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql'

export const graphqlBounds = {
  /** Names, values and punctuation: the largest query of PrimeHub's clients has about 130, that of introspection 350. */
  tokens: 1_000,
  /** `edges { node { appTemplate { name` is 5 deep. */
  depth: 8,
  /** With each fragment counted where it is used. Introspection has about 300. */
  fields: 500,
  /** Those of the query itself, aliases too: each reads or changes something. */
  roots: 10,
} as const

/** @throws {GraphQLError} for a text that is no query, or that is beyond a bound */
export function parseBounded(text: string): DocumentNode {
  const document = parse(text, { maxTokens: graphqlBounds.tokens, noLocation: true })
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const costs = new Costs(fragments)
  const operations = document.definitions.filter(each => each.kind === Kind.OPERATION_DEFINITION)
  if (operations.length !== 1) throw new GraphQLError('a request has one operation')
  const { depth, fields, roots } = costs.of(operations[0]!.selectionSet)
  if (roots > graphqlBounds.roots) throw new GraphQLError(`the query asks more than ${graphqlBounds.roots} questions`)
  if (depth > graphqlBounds.depth) throw new GraphQLError(`the query is deeper than ${graphqlBounds.depth} fields`)
  if (fields > graphqlBounds.fields) throw new GraphQLError(`the query has more than ${graphqlBounds.fields} fields`)
  return document
}

interface Cost {
  readonly depth: number
  readonly fields: number
  /** Fields of the first level. */
  readonly roots: number
}

const nothing: Cost = { depth: 0, fields: 0, roots: 0 }

/** Each fragment is counted once, and its sum is taken wherever it is used: fragments of fragments cost nothing to count. */
class Costs {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly #known = new Map<string, Cost | 'begun'>()

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments
  }

  of({ selections }: SelectionSetNode): Cost {
    return selections.reduce<Cost>((sum, selection) => {
      const { depth, fields, roots } = this.#ofOne(selection)
      return { depth: Math.max(sum.depth, depth), fields: sum.fields + fields, roots: sum.roots + roots }
    }, nothing)
  }

  #ofOne(selection: SelectionNode): Cost {
    if (selection.kind === Kind.INLINE_FRAGMENT) return this.of(selection.selectionSet)
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.#ofFragment(selection.name.value)
    const inner = selection.selectionSet ? this.of(selection.selectionSet) : nothing
    // The library bounds how deep lists of introspection are within each other.
    const depth = selection.name.value.startsWith('__') ? 1 : inner.depth + 1
    return { depth, fields: inner.fields + 1, roots: 1 }
  }

  #ofFragment(name: string): Cost {
    const known = this.#known.get(name)
    if (known === 'begun') throw new GraphQLError('fragments contain each other')
    if (known) return known
    this.#known.set(name, 'begun')
    const fragment = this.#fragments.get(name)
    const cost = fragment ? this.of(fragment.selectionSet) : nothing
    this.#known.set(name, cost)
    return cost
  }
}
