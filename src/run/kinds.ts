/** The kinds of subjects beside labs, and what is counted of each. */
import type { Slots } from '../base/slots.ts'
import { labKind } from '../base/subject.ts'
import type { Census, EngineUse } from '../telemetry/gauges.ts'
import type { Basics } from './basics.ts'
import type { KindParts } from './kind.ts'
import type { Store } from './store.ts'

/** Shared parts that those of a kind may use beside their own. */
export interface KindShared {
  readonly store: Store
  /** The room of labs, for a kind that shares it. */
  readonly labRoom: Slots
}

export interface KindMaker {
  /** That of the kind. `skylab heal` knows it without making the kind. */
  readonly name: string
  /** @returns undefined if the configuration does not want this kind here */
  make(basics: Basics, shared: KindShared): KindParts | undefined
}

/** A kind of the product is added here; tests add theirs by `addKind`. */
const makers: KindMaker[] = []

/**
 * Adds a kind to the replicas that this process makes later.
 * @returns a function that removes it
 * @throws if there is one of this name
 */
export function addKind(maker: KindMaker): () => void {
  if (kindNames().includes(maker.name)) throw new Error(`there is a kind ${maker.name} already`)
  makers.push(maker)
  return () => void makers.splice(makers.indexOf(maker), 1)
}

/** All kinds of subjects. */
export const kindNames = (): readonly string[] => [labKind, ...makers.map(({ name }) => name)]

/** @throws if a maker makes a kind of another name */
export function joinKinds(basics: Basics, shared: KindShared): readonly KindParts[] {
  return makers.flatMap(maker => {
    const made = maker.make(basics, shared)
    if (made && made.name !== maker.name) throw new Error(`the maker of ${maker.name} made the kind ${made.name}`)
    return made ?? []
  })
}

/** Counts the operations of each kind. One that is not compared yet, or that Redis does not answer for, is left out. */
export async function censusOf(
  kinds: readonly { readonly name: string; readonly operations: Pick<KindParts['operations'], 'census'> }[],
): Promise<Census> {
  const counted = kinds.map(
    async ({ name, operations }) => [name, await operations.census().catch(() => undefined)] as const,
  )
  const known = (await Promise.all(counted)).flatMap(([name, census]) => (census ? [[name, census] as const] : []))
  return Object.fromEntries(known)
}

/** The use of each engine, and of its room. A room that several share is counted with the first one. */
export function usesOf(
  kinds: readonly { readonly name: string; readonly engine: { readonly size: number }; readonly room: Slots }[],
): Readonly<Record<string, EngineUse>> {
  const counted = new Set<Slots>()
  const uses = kinds.map(({ name, engine, room }) => {
    const { places, free } = room
    const isCounted = counted.has(room)
    counted.add(room)
    return [name, { owned: engine.size, ...(!isCounted && { places, free }) }] as const
  })
  return Object.fromEntries(uses)
}
