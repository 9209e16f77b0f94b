/** Compares what exists with what is wanted. Pure. */
import { canonical } from '../base/canonical.ts'
import type { KubeObject } from '../base/domain.ts'
import type { JsonObject } from '../base/json.ts'
import { keyOf } from '../kube/cache.ts'
import type { ObjectRef } from '../kube/kinds.ts'
import { contentOf, contentText, isParent, lastWish, objectToCreate } from './facts.ts'
import { patchTo, valueAt, withValueAt } from './merge.ts'
import { checkOwned, unowned } from './owned.ts'
import type { Act, Alter, Fact, Hold, OwnedKind, OwnerReference, ParentKind, Path, Remove, Wanted } from './types.ts'

/** The stage of acts that take something away. */
export const firstStage = -1

/** Whether an act only takes something away. Such an act is never put off. */
export const isRevocation = ({ stage }: Act): boolean => stage === firstStage

/** Identifies an object in the cluster, whatever its UID. */
export const refKey = ({ apiVersion, kind, namespace, name }: ObjectRef): string =>
  `${apiVersion} ${kind} ${keyOf(namespace, name)}`

export interface PlannedKind {
  readonly parent: ParentKind
  readonly sources: readonly OwnedKind[]
}

/**
 * The acts that make it so, in order: what takes something away, then the stages of the wanted objects. Nothing is adopted
 * unless its wish says so: an object of nobody, or of another parent, is in conflict. One of a former parent of the same name
 * goes first.
 * @throws {Error} when two wanted objects have one name, or one has no parent, or fields that no source owns
 */
export function plan(
  { objects, standing, parent: of }: Pick<Hold, 'objects' | 'standing' | 'parent'>,
  { parent: kind, sources }: PlannedKind,
): Act[] {
  const facts = new Map(standing.map(fact => [refKey(fact.ref), fact]))
  const parent: Parent = { kind, name: of === 'shared' ? undefined : of.ref.name }
  const wanted = new Set<string>()
  const acts: Act[] = []
  for (const wish of objects) {
    const key = refKey(refOf(wish.object))
    if (wanted.has(key)) throw new Error(`${key} is wanted twice`)
    wanted.add(key)
    const owned = ownedKind(sources, wish.object)
    checkWish(wish, owned)
    acts.push(...actsFor(wish, facts.get(key), parent, owned.grants ?? []))
  }
  for (const [key, fact] of facts) {
    if (wanted.has(key) || !isOurs(fact, parent)) continue
    acts.push(...removalOf(fact, 'unwanted', firstStage, ownedKind(sources, fact.ref).grants ?? []))
  }
  return restrictedFirst(acts).sort((a, b) => a.stage - b.stage)
}

function ownedKind(sources: readonly OwnedKind[], { apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>) {
  const owned = sources.find(({ watch }) => watch.apiVersion === apiVersion && watch.kind === kind)
  if (!owned) throw new Error(`no source shows ${apiVersion} ${kind}`)
  return owned
}

/** A restriction is corrected with the revocations, unless it cannot be there yet. */
function restrictedFirst(acts: readonly Act[]): Act[] {
  const lowest = Math.min(...acts.map(({ stage }) => (stage === firstStage ? Number.POSITIVE_INFINITY : stage)))
  return acts.map(act => {
    const isRestriction = (act.act === 'create' || act.act === 'change') && act.restricts
    return isRestriction && (act.act === 'change' || act.stage === lowest) ? { ...act, stage: firstStage } : act
  })
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
  objects
    .map(({ object, stage, compare }) => `${stage} ${compare} ${headText(object)} ${contentText(object)}`)
    .join('\n')

/** The part of an object that is no content. */
function headText({ apiVersion, kind, metadata: { labels: _labels, annotations: _annotations, ...rest } }: KubeObject) {
  return canonical([apiVersion, kind, rest])
}

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

function actsFor(wish: Wanted, fact: Fact | undefined, parent: Parent, grants: readonly Path[]): Act[] {
  const { stage, restricts, former = 'remove' } = wish
  const owners = (wish.object.metadata.ownerReferences ?? []).filter(owner => isParent(owner, parent.kind))
  if (owners.length === 0) throw new Error(`${refKey(refOf(wish.object))} has no ${parent.kind.kind} as its owner`)
  if (!fact) return [{ act: 'create', stage, object: objectToCreate(wish), ...(restricts && { restricts }) }]
  const ours = isOurs(fact, parent)
  if (!ours && !mayAdopt(wish, fact, parent)) return [{ act: 'conflict', stage, fact }]
  const isFormer = ours && parent.name !== undefined && !fact.owners.some(({ uid }) => owners.some(o => o.uid === uid))
  if (isFormer && former === 'remove' && !fact.deleting) return removalOf(fact, 'former', firstStage, grants)
  if (!fact.deleting && !isFormer) return changesOf(wish, fact, owners, parent.kind, grants)
  const shrunk = shrinking(fact, grants, isFormer ? {} : contentOf(wish.object))
  return [...(shrunk ? [shrunk] : []), { act: 'await', stage, fact }]
}

function changesOf(
  wish: Wanted,
  fact: Fact,
  owners: readonly OwnerReference[],
  parent: ParentKind,
  grants: readonly Path[],
): Act[] {
  const { stage, restricts } = wish
  const wanted = contentOf(objectToCreate(wish))
  const last = formerWish(wish, fact)
  const differsAt = (path: Path) => {
    const [value, live, before] = [wanted, fact.owned, last].map(object => valueAt(object, path))
    return value === undefined ? live !== undefined && before !== undefined : patchTo(value, live, before) !== undefined
  }
  if (wish.immutable?.some(differsAt)) {
    return removalOf(fact, 'immutable', grants.length > 0 ? firstStage : stage, grants)
  }
  const ownership = ownersPatch(fact, owners, parent, grants.length > 0)
  const content = patchTo(wanted, fact.owned, last) as JsonObject | undefined
  if (!ownership && !content) return []
  const metadata = { ...(content?.metadata as object | undefined), ...ownership }
  const patch = { ...content, ...(Object.keys(metadata).length > 0 && { metadata }) }
  const change: Alter = { act: 'change', stage, fact, patch, ...(restricts && { restricts }) }
  const shrunk = shrinking(fact, grants, wanted)
  return shrunk ? [shrunk, change] : [change]
}

/** The middle of the three-way patch: fields of it that are not wanted any more go. */
function formerWish({ object, compare }: Wanted, fact: Fact): JsonObject {
  switch (compare) {
    case 'exact':
      return fact.owned
    case 'covers':
      return lastWish(fact, object)
    case 'part':
      return {}
  }
}

/** Takes all elements of rights away that are not in `kept`; undefined if there are none. */
function shrinking(fact: Fact, grants: readonly Path[], kept: JsonObject): Alter | undefined {
  if (grants.length === 0) return undefined
  const patch = patchTo(withoutUnwanted(grants, kept, fact.owned), fact.owned, fact.owned) as JsonObject | undefined
  return patch && { act: 'change', stage: firstStage, fact, patch, shrinks: true }
}

/** Rights end before their object does. */
function removalOf(fact: Fact, why: Remove['why'], stage: number, grants: readonly Path[]): Act[] {
  const emptied = shrinking(fact, grants, {})
  if (emptied) return [emptied]
  return fact.deleting ? [] : [{ act: 'remove', stage, fact, why }]
}

/** The live object without the elements of grants that are not wanted. */
function withoutUnwanted(grants: readonly Path[], wanted: JsonObject, live: JsonObject): JsonObject {
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

/** Owners of other kinds are left as they are, but not of an object that gives rights: they would keep it. */
function ownersPatch(fact: Fact, wanted: readonly OwnerReference[], parent: ParentKind, isAlone: boolean) {
  const text = (owners: readonly OwnerReference[]) => owners.map(canonical).sort().join()
  const others = isAlone ? [] : fact.owners.filter(owner => !isParent(owner, parent))
  const all = [...others, ...wanted]
  return text(fact.owners) === text(all) ? undefined : { ownerReferences: all }
}

/** By name, whatever the UID: what a former parent of the name has left is ours to remove. */
const isOurs = ({ owners }: Fact, { kind, name }: Parent): boolean =>
  owners.some(owner => isParent(owner, kind) && (name === undefined || owner.name === name))

const mayAdopt = ({ adopts }: Wanted, fact: Fact, { kind }: Parent): boolean =>
  !fact.owners.some(owner => isParent(owner, kind)) && (adopts?.(fact) ?? false)

/**
 * Every field of a wish must be owned by a source. Another one is not seen: it would be written again and again, and an unseen
 * right never taken away.
 * @throws {Error} with the field
 */
function checkWish(wish: Wanted, { paths, grants = [], watch }: OwnedKind): void {
  checkOwned(contentOf(wish.object), paths, watch.kind)
  for (const path of grants) {
    if (!paths.some(own => own.every((name, i) => path[i] === name))) throw unowned(path, watch.kind)
  }
}
