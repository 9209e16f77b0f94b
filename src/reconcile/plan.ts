/** Compares what exists with what is wanted. Pure. */
import type { KubeObject } from '../base/domain.ts'
import type { JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { ObjectRef } from '../kube/kinds.ts'
import { contentOf, isParent, lastWish, objectToCreate } from './facts.ts'
import { canonical, patchTo, valueAt, withValueAt } from './merge.ts'
import type { Act, Alter, Fact, Hold, OwnerReference, ParentKind, Remove, Wanted } from './types.ts'

/** The stage of all that takes something away. */
export const firstStage = -1

/** Whether an act only takes something away. Such an act is never put off. */
export const isRevocation = ({ stage }: Act): boolean => stage === firstStage

/** Identifies an object in the cluster, whatever its UID. */
export const refKey = ({ apiVersion, kind, namespace, name }: ObjectRef): string =>
  `${apiVersion} ${kind} ${keyOf(namespace, name)}`

/**
 * The acts that make it so, in order: what takes something away, then the stages of the wanted objects. Nothing is adopted:
 * an object of nobody, or of another parent, is in conflict. One of a former parent of the same name goes first.
 * @throws {Error} when two wanted objects have one name, or one has no parent
 */
export function plan(
  { objects, standing, parent: of }: Pick<Hold, 'objects' | 'standing' | 'parent'>,
  kind: ParentKind,
): Act[] {
  const facts = new Map(standing.map(fact => [refKey(fact.ref), fact]))
  const parent: Parent = { kind, name: of === 'shared' ? undefined : of.ref.name }
  const wanted = new Set<string>()
  const acts: Act[] = []
  for (const wish of objects) {
    const key = refKey(refOf(wish.object))
    if (wanted.has(key)) throw new Error(`${key} is wanted twice`)
    wanted.add(key)
    acts.push(...actsFor(wish, facts.get(key), parent))
  }
  for (const [key, fact] of facts) {
    if (wanted.has(key) || fact.deleting || !isOurs(fact, parent)) continue
    acts.push(removal(fact, 'unwanted', firstStage))
  }
  return acts.sort((a, b) => a.stage - b.stage)
}

/**
 * The writes that can be sent now, side by side: those of the lowest stage with an act. None if something of another's is in
 * the way there.
 */
export function nextWrites(acts: readonly Act[]): Act[] {
  const stage = acts[0]?.stage
  const now = acts.filter(act => act.stage === stage)
  if (now.some(({ act }) => act === 'conflict')) return []
  return now.filter(({ act }) => act !== 'await')
}

/** A text that is equal for equal wishes. */
export const wishText = (objects: readonly Wanted[]): string =>
  canonical(objects.map(({ object, stage, compare }) => ({ object, stage, compare })))

export const refOf = ({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): ObjectRef => ({
  apiVersion,
  kind,
  name,
  ...(namespace !== undefined && { namespace }),
})

export const refOfAct = (act: Act): ObjectRef => (act.act === 'create' ? refOf(act.object) : act.fact.ref)

/** Without a name, parents share the objects. */
interface Parent {
  readonly kind: ParentKind
  readonly name: string | undefined
}

function actsFor(wish: Wanted, fact: Fact | undefined, parent: Parent): Act[] {
  const { stage } = wish
  const owners = (wish.object.metadata.ownerReferences ?? []).filter(owner => isParent(owner, parent.kind))
  if (owners.length === 0) throw new Error(`${refKey(refOf(wish.object))} has no ${parent.kind.kind} as its owner`)
  if (!fact) return [{ act: 'create', stage, object: objectToCreate(wish) }]
  if (!isOurs(fact, parent)) return [{ act: 'conflict', stage, fact }]
  if (fact.deleting) return [{ act: 'await', stage, fact }]
  const isFormer = !fact.owners.some(({ uid }) => owners.some(owner => owner.uid === uid))
  if (isFormer && parent.name !== undefined) return [removal(fact, 'former', firstStage)]
  return changesOf(wish, fact, owners, parent.kind)
}

function changesOf(wish: Wanted, fact: Fact, owners: readonly OwnerReference[], parent: ParentKind): Act[] {
  const wanted = contentOf(objectToCreate(wish))
  const last = wish.compare === 'exact' ? fact.owned : lastWish(fact)
  const differsAt = (path: readonly string[]) => {
    const [value, live, before] = [wanted, fact.owned, last].map(object => valueAt(object, path))
    return value === undefined ? live !== undefined && before !== undefined : patchTo(value, live, before) !== undefined
  }
  if (wish.immutable?.some(differsAt)) return [removal(fact, 'immutable', wish.grants ? firstStage : wish.stage)]
  const ownership = ownersPatch(fact, owners, parent)
  const content = patchTo(wanted, fact.owned, last) as JsonObject | undefined
  if (!ownership && !content) return []
  const shrunk = patchTo(withoutUnwanted(wish, wanted, fact.owned), fact.owned, fact.owned) as JsonObject | undefined
  const metadata = { ...(content?.metadata as object | undefined), ...ownership }
  const patch = { ...content, ...(Object.keys(metadata).length > 0 && { metadata }) }
  const change: Alter = { act: 'change', stage: wish.stage, fact, patch }
  return shrunk ? [{ ...change, stage: firstStage, patch: shrunk }, change] : [change]
}

/** What exists, without the elements of grants that are not wanted. */
function withoutUnwanted({ grants = [] }: Wanted, wanted: JsonObject, live: JsonObject): JsonObject {
  let kept = live
  for (const path of grants) {
    const [have, want] = [valueAt(kept, path), valueAt(wanted, path)]
    if (!Array.isArray(have)) continue
    const texts = new Set(Array.isArray(want) ? want.map(canonical) : [])
    const fewer = have.filter(element => texts.has(canonical(element)))
    if (fewer.length < have.length) kept = withValueAt(kept, path, fewer) as JsonObject
  }
  return kept
}

/** Owners of other kinds are left as they are. */
function ownersPatch(fact: Fact, wanted: readonly OwnerReference[], parent: ParentKind) {
  const text = (owners: readonly OwnerReference[]) => owners.map(canonical).sort().join()
  const [ours, others] = [true, false].map(of => fact.owners.filter(owner => isParent(owner, parent) === of))
  if (text(ours!) === text(wanted)) return undefined
  return { ownerReferences: [...others!, ...wanted] }
}

/** By name, whatever the UID: what a former parent of the name has left is ours to remove. */
const isOurs = ({ owners }: Fact, { kind, name }: Parent): boolean =>
  owners.some(owner => isParent(owner, kind) && (name === undefined || owner.name === name))

const removal = (fact: Fact, why: Remove['why'], stage: number): Remove => ({ act: 'remove', stage, fact, why })
