/** Objects as facts and as wishes: our part of them. Pure. */
import { isDeepStrictEqual } from 'node:util'
import { canonical } from '../base/canonical.ts'
import type { KubeObject } from '../base/domain.ts'
import { asObject, type JsonObject } from '../base/json.ts'
import type { Change } from '../kube/picture.ts'
import { selected } from './merge.ts'
import type { Fact, OwnerReference, ParentKind, Path, Wanted } from './types.ts'

/** The annotation with the last wish of an object that is compared by `covers`: the middle of its three-way patches. */
export const lastAnnotation = 'skylab/last'
const lastPath: Path = ['metadata', 'annotations', lastAnnotation]

/** @param paths our fields of the object; its last wish always belongs to them */
export function factOf(object: KubeObject, paths: readonly Path[]): Fact {
  const { apiVersion, kind, metadata } = object
  const { name, namespace, uid = '', resourceVersion = '', ownerReferences = [] } = metadata
  return {
    ref: { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) },
    uid,
    resourceVersion: String(resourceVersion),
    owners: ownerReferences,
    deleting: metadata.deletionTimestamp !== undefined,
    owned: selected(object, [...paths, lastPath]),
  }
}

/** Whether an event shows a write of others, or an end. A new object was just made; fields that we do not own do not count. */
export function isAnothers(change: Change<Fact>): boolean {
  if (change.type === 'gone') return true
  return change.previous !== undefined && !isDeepStrictEqual(ownOf(change.previous), ownOf(change.value))
}

const ownOf = ({ owned, owners, deleting }: Fact) => [owned, owners, deleting]

/** The compared and patched part of a wish: neither its name nor its owners. */
export function contentOf({
  metadata,
  apiVersion: _version,
  kind: _kind,
  status: _status,
  ...rest
}: KubeObject): JsonObject {
  const { labels, annotations } = metadata
  const kept = { ...(labels && { labels }), ...(annotations && { annotations }) }
  return Object.keys(kept).length === 0 ? rest : { ...rest, metadata: kept }
}

const texts = new WeakMap<KubeObject, string>()

/** The content of a wish, as a text that is equal for equal contents. It is made once for each object, which must stay as it is. */
export function contentText(object: KubeObject): string {
  const known = texts.get(object)
  if (known !== undefined) return known
  const text = canonical(contentOf(object))
  texts.set(object, text)
  return text
}

/**
 * The object as it is created: one that is compared by `covers` carries its own wish.
 * @throws {Error} for a Secret that is compared by `covers`, whose values must not be in an annotation
 */
export function objectToCreate({ object, compare }: Wanted): KubeObject {
  if (compare !== 'covers') return object
  if (object.kind === 'Secret') throw new Error('a Secret must be compared exactly')
  const annotations = { ...object.metadata.annotations, [lastAnnotation]: contentText(object) }
  return { ...object, metadata: { ...object.metadata, annotations } }
}

/** The wish of before, by the object itself; empty if it cannot be read. Mostly it is the same as the wish of now. */
export function lastWish({ owned }: Fact, now: KubeObject): JsonObject {
  const text = asObject(asObject(owned.metadata).annotations)[lastAnnotation]
  if (typeof text !== 'string') return {}
  if (text === contentText(now)) return contentOf(now)
  try {
    return asObject(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Whether an owner is a parent of this kind, of any version. */
export function isParent({ apiVersion, kind }: OwnerReference, parent: ParentKind): boolean {
  return kind === parent.kind && groupOf(apiVersion) === groupOf(parent.apiVersion)
}

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
