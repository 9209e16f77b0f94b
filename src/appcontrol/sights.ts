/** The objects that REST reads for apps: PhApplications, their pods, and events about these. Watches show all of them. */

import { annotationsOf, generationOf, isOlder } from '../apps/spec.ts'
import type { Identity } from '../base/domain.ts'
import { asObject, asText, type JsonObject } from '../base/json.ts'
import type { PodEventFacts, PodFacts } from '../kube/pods/facts.ts'
import type { Fact, OverlaidWatch } from '../reconcile/types.ts'

/**
 * A fact has of its PhApplication: spec, status, generation, creationTimestamp, and the annotations that `appAnnotations` names.
 */
export interface AppSights {
  readonly apps: Pick<OverlaidWatch, 'get' | 'values' | 'on' | 'lay' | 'layGone' | 'layDeleted'>
  /** Those of this name, in all namespaces. */
  named(id: string): Iterable<Fact>
  /** The group whose app it is; undefined if its namespace is not that of `spec.groupName`. */
  groupOf(app: Fact): string | undefined
  /** Those that belong to it by their owners, whatever their labels say. */
  podsOf(app: Fact): readonly PodFacts[]
  /** The cluster's events about these, oldest first. */
  podEventsOf(app: Fact): readonly PodEventFacts[]
  /** Calls the listener with an app whose pods' events have changed. @returns a function that removes it */
  onPodEvents(listener: (app: Fact) => void): () => void
}

/** The caller and his scope: a user sees the apps of his groups, an administrator all. */
export interface Asker {
  readonly caller: Pick<Identity, 'username' | 'groups'>
  readonly audience: 'user' | 'admin'
}

/** Whether a caller is a member of a group. @throws {ApiError} 503 if that is not known yet */
export type IsMember = (caller: Pick<Identity, 'username' | 'groups'>, group: string) => boolean

export const specOf = ({ owned }: Fact): JsonObject => asObject(owned.spec)
export const statusOf = ({ owned }: Fact): JsonObject => asObject(owned.status)
export const annotationOf = (app: Fact, name: string): string => asText(annotationsOf(app)[name])

/** If several apps have one id, the oldest holds it. */
export function holderOf(apps: Iterable<Fact>): Fact | undefined {
  return [...apps].reduce<Fact | undefined>((oldest, app) => (oldest && isOlder(oldest, app) ? oldest : app), undefined)
}

/** The version of what is wished, quoted as in `ETag`: a new status does not change it. */
export const etagOf = (app: Fact): string => `"${app.uid}.${generationOf(app)}"`

/** Whether `If-Match` names this version. */
export const isMatched = (ifMatch: string, etag: string): boolean =>
  ifMatch.split(',').some(each => each.trim() === '*' || each.trim() === etag)
