/** Arguments and answers of calls of the Kubernetes API. */
import type { KubeObject } from '../base/domain.ts'
import type { CallOptions } from './call-options.ts'
import type { ObjectRef } from './kinds.ts'

/** An object with its UID: only this one may be deleted. */
export interface ObjectIdentity extends ObjectRef {
  readonly uid: string
}

export interface DeleteOptions extends CallOptions {
  /** Default: the object's own. */
  readonly graceSeconds?: number | undefined
  /** What happens to its dependents. Default: the kind's own. */
  readonly propagation?: 'Background' | 'Foreground' | undefined
}

export interface PatchOptions extends CallOptions {
  /** The object is changed only if this is its version. Default: any version. */
  readonly resourceVersion?: string | undefined
  /** The part of the object that is written; all else in the patch is then ignored. Default: all but its status. */
  readonly subresource?: 'status' | undefined
}

/**
 * - `accepted`: it is being deleted, or was deleted at once;
 * - `gone`: the server has no object of that name;
 * - `other`: the object of that name has another UID, and was not touched.
 */
export type DeleteOutcome = 'accepted' | 'gone' | 'other'

/** As `DeleteOutcome`; `changed`: the object has another version than the one given, and was not touched. */
export type VersionedDeleteOutcome = DeleteOutcome | 'changed'

export interface ListScope {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}

export interface ListOptions extends ListScope {
  readonly signal?: AbortSignal | undefined
  readonly agent?: string | undefined
  /** Called after each page of the list. */
  readonly onPage?: (() => void) | undefined
}

export interface ListPage {
  readonly items: readonly KubeObject[]
  /** The state of the cluster that the whole list shows; a watch can start from it. */
  readonly resourceVersion: string
  /** A list begins here, possibly again: a list that expired is started anew, and its earlier pages are void. */
  readonly first: boolean
}

export interface WatchOptions extends ListScope {
  readonly resourceVersion: string
  /** The server ends the watch after this time. */
  readonly timeoutSeconds: number
  readonly signal: AbortSignal
}

export interface OpenWatch {
  /**
   * Passes each line on: JSON, whose bytes must be copied if they are kept. An error that `onLine` throws ends the watch.
   * Resolves when the server has ended it; rejects with what ended it before.
   */
  read(onLine: (line: Buffer) => void): Promise<void>
}

export interface LogOptions {
  readonly container?: string | undefined
  readonly follow: boolean
  readonly tailLines?: number | undefined
  readonly signal: AbortSignal
  readonly agent?: string | undefined
  /** A pod that says nothing has no beginning of an answer either. */
  readonly headTimeoutMs: number
}

/** A JSON merge patch. `null` removes a field. */
export interface MergePatch {
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}
