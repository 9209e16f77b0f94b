/** Bounds a query before anything is done with it: its text, its depth, its fields, its aliases and its lists of lists. Pure. */
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
  /** How often a selection names a field, by aliases and fragments: a short query must not repeat a long value. */
  repeats: 2,
} as const

/** Of the first level, which may be as many as `roots`: each is of one app or one template. The lists are not among them. */
const ofOne = /^(phApplication|phAppTemplate|(create|update|delete|start|stop)Ph[A-Za-z]+)$/

/** The lists of introspection. One within another would be the schema times the schema. */
const listsOfSchema = new Set(['fields', 'inputFields', 'interfaces', 'possibleTypes'])

/**
 * Their content is bounded by no rate and by no size of the answer, and is made in one go: within them no selection names a field
 * twice, else each repeat of a list would multiply those within it.
 */
const rootsOfSchema: ReadonlySet<string> = new Set(['__schema', '__type'])

const twice = () => new GraphQLError('the query asks twice for a field of the schema')

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
  const { depth, fields, lists, roots, ...whole } = costs.of(operations[0]!.selectionSet)
  if (roots > graphqlBounds.roots) throw new GraphQLError(`the query asks more than ${graphqlBounds.roots} questions`)
  if (depth > graphqlBounds.depth) throw new GraphQLError(`the query is deeper than ${graphqlBounds.depth} fields`)
  if (fields > graphqlBounds.fields) throw new GraphQLError(`the query has more than ${graphqlBounds.fields} fields`)
  if (lists > 1) throw new GraphQLError('the query asks for fields within fields of the schema')
  if ([...rootsOfSchema].some(name => (whole.named.get(name) ?? 0) > 1)) throw twice()
  if (mostRepeats(whole) > graphqlBounds.repeats)
    throw new GraphQLError(`the query asks more than ${graphqlBounds.repeats} times for a field of the same object`)
  return document
}

interface Cost {
  readonly depth: number
  readonly fields: number
  /** Fields of the first level. */
  readonly roots: number
  /** How deep lists of the schema are within each other. */
  readonly lists: number
  /** Fields of the first level, by their names. */
  readonly named: ReadonlyMap<string, number>
  /** The most repeats of a field further below. */
  readonly repeats: number
}

const nothing: Cost = { depth: 0, fields: 0, roots: 0, lists: 0, named: new Map(), repeats: 0 }

const mostRepeats = ({ named, repeats }: Pick<Cost, 'named' | 'repeats'>): number =>
  Math.max(repeats, ...[...named].map(([name, count]) => (ofOne.test(name) ? 0 : count)))

/** Each fragment is counted once, and its sum is taken wherever it is used: fragments of fragments cost nothing to count. */
class Costs {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>
  readonly #known = new Map<string, Cost | 'begun'>()

  constructor(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
    this.#fragments = fragments
  }

  of({ selections }: SelectionSetNode): Cost {
    const named = new Map<string, number>()
    const sum = selections.reduce<Cost>((sum, selection) => {
      const one = this.#ofOne(selection)
      for (const [name, count] of one.named) named.set(name, (named.get(name) ?? 0) + count)
      return {
        ...{ depth: Math.max(sum.depth, one.depth), fields: sum.fields + one.fields, roots: sum.roots + one.roots },
        ...{ lists: Math.max(sum.lists, one.lists), repeats: Math.max(sum.repeats, one.repeats), named },
      }
    }, nothing)
    return { ...sum, named }
  }

  #ofOne(selection: SelectionNode): Cost {
    if (selection.kind === Kind.INLINE_FRAGMENT) return this.of(selection.selectionSet)
    if (selection.kind === Kind.FRAGMENT_SPREAD) return this.#ofFragment(selection.name.value)
    const inner = selection.selectionSet ? this.of(selection.selectionSet) : nothing
    const { value: name } = selection.name
    if (rootsOfSchema.has(name) && mostRepeats(inner) > 1) throw twice()
    return {
      // The library bounds how deep types of introspection are within each other.
      depth: name.startsWith('__') ? 1 : inner.depth + 1,
      ...{ fields: inner.fields + 1, roots: 1 },
      lists: inner.lists + (listsOfSchema.has(name) ? 1 : 0),
      ...{ named: new Map([[name, 1]]), repeats: mostRepeats(inner) },
    }
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
