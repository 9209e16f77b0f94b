/**
 * The Kubernetes API as this program uses it: raw JSON with all fields, every delete bound to a UID, and absence
 * believed only when the API server itself reports it.
 */
import type { KubeObject } from '../base/domain.ts'
import { RetryLater } from '../base/errors.ts'
import type { Reason } from '../base/reasons.ts'
import { isExpired, isNotFound, KubeError } from './errors.ts'
import { collectionPath, creationPath, type ObjectRef, objectPath } from './kinds.ts'
import { lineSplitter } from './lines.ts'
import { type CallOptions, type Method, Requester, type RequesterOptions, type RequestOptions } from './requester.ts'

export type { Log } from '../base/log.ts'
export { briefly, isAlreadyExists, isExpired, isNotFound, isOverQuota, KubeError } from './errors.ts'
export type { ObjectRef } from './kinds.ts'
export { applyRbac, inOperatorsWords, type Refuser, refuserOf, refusers, remedyOf } from './refusals.ts'
export type { CallOptions, OnRefusal, OnRequest, RequestOptions } from './requester.ts'
export type KubeClientOptions = RequesterOptions

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

/** A JSON merge patch. `null` removes a field. */
export interface MergePatch {
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly [field: string]: unknown
}

/** A created object. Its metadata is parsed when it is used: of six objects in eight it never is. */
export type CreatedObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>

const pageSize = 500

export class KubeClient {
  readonly #requester: Requester
  #account: string | undefined

  constructor(options: KubeClientOptions) {
    this.#requester = new Requester(options)
  }

  /**
   * Creates an object and returns it with the metadata that the server keeps. After a lost reply it is sent again, so
   * `AlreadyExists` (see `isAlreadyExists`) may mean our own object: the caller must read it and decide.
   * @throws {KubeError} when refused
   * @throws {RetryLater} when the server does not answer for now
   */
  async create(object: KubeObject, options: CallOptions = {}): Promise<CreatedObject> {
    const path = creationPath(object.apiVersion, object.kind, object.metadata.namespace)
    const read = (json: Buffer) => createdObject(object, json)
    return (await this.request('POST', path, object, { ...options, read })) as CreatedObject
  }

  /**
   * Reads an object from the API server; null when the server reports NotFound.
   * @throws {KubeError} when refused
   * @throws {RetryLater} when the server does not answer for now
   */
  async get(ref: ObjectRef, options: CallOptions = {}): Promise<KubeObject | null> {
    try {
      return (await this.request('GET', objectPath(ref), undefined, options)) as KubeObject
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }

  /**
   * Merges a patch into the object with this UID; lists are replaced as a whole. Without a `resourceVersion`, concurrent
   * changes of other fields do not matter. Returns the object as the server keeps it.
   * @returns null when the server reports NotFound
   * @throws {KubeError} when refused; 409 or 422 when the object of that name has another UID, 409 when it has another
   *   version than the given one: after a lost reply that may be our own change
   * @throws {RetryLater} when the server does not answer for now
   */
  async patch(ref: ObjectIdentity, patch: MergePatch, options: PatchOptions = {}): Promise<KubeObject | null> {
    const { resourceVersion, subresource, ...call } = options
    try {
      const body = { ...patch, metadata: { ...patch.metadata, uid: ref.uid, resourceVersion } }
      return (await this.request('PATCH', objectPath(ref, subresource), body, call)) as KubeObject
    } catch (error) {
      if (isNotFound(error)) return null
      throw error
    }
  }

  /**
   * Deletes the object with this UID.
   * @throws {KubeError} when refused
   * @throws {RetryLater} when the server does not answer, or a conflict prevents the deletion for now
   */
  async delete(ref: ObjectIdentity, options: DeleteOptions = {}): Promise<DeleteOutcome> {
    return (await this.#delete(ref, undefined, options)) as DeleteOutcome
  }

  /** Deletes the object with this UID if this is its version. Throws as `delete`. */
  deleteVersion(
    ref: ObjectIdentity,
    resourceVersion: string,
    options: DeleteOptions = {},
  ): Promise<VersionedDeleteOutcome> {
    return this.#delete(ref, resourceVersion, options)
  }

  async #delete(
    ref: ObjectIdentity,
    resourceVersion: string | undefined,
    options: DeleteOptions,
  ): Promise<VersionedDeleteOutcome> {
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      preconditions: { uid: ref.uid, resourceVersion },
      gracePeriodSeconds: options.graceSeconds,
      propagationPolicy: options.propagation,
      // For requests with a body the server ignores the query; creates have dryRun in the query.
      dryRun: options.dryRun ? ['All'] : undefined,
    }
    try {
      await this.request('DELETE', objectPath(ref), body, { ...options, read: ignored })
      return 'accepted'
    } catch (error) {
      if (isNotFound(error)) return 'gone'
      if (!(error instanceof KubeError) || error.status !== 409) throw error
      return await this.#afterConflict(ref, resourceVersion, error, options)
    }
  }

  /**
   * A conflict usually means another UID or version, but also occurs during a deletion. The object itself shows which one
   * it is.
   */
  async #afterConflict(
    ref: ObjectIdentity,
    resourceVersion: string | undefined,
    conflict: KubeError,
    options: CallOptions,
  ): Promise<VersionedDeleteOutcome> {
    const object = await this.get(ref, { signal: options.signal, agent: options.agent })
    if (!object) return 'gone'
    if (object.metadata.uid !== ref.uid) return 'other'
    if (object.metadata.deletionTimestamp) return 'accepted'
    if (resourceVersion !== undefined && object.metadata.resourceVersion !== resourceVersion) return 'changed'
    throw new RetryLater(conflict.message, conflict.retryAfterMs, { cause: conflict })
  }

  /**
   * Lists the scope in the API server's current state, never from an older cache, and returns each object as `project` makes
   * it. Each page is projected before the next one is read, so that no more than one page of whole objects is held.
   * @throws {KubeError} when refused; 410 when even the whole list expired
   * @throws {RetryLater} when the server does not answer for now
   */
  async list<T>(
    apiVersion: string,
    kind: string,
    project: (object: KubeObject) => T,
    options: ListOptions = {},
  ): Promise<T[]> {
    let projected: T[] = []
    for await (const page of this.pages(apiVersion, kind, options)) {
      if (page.first) projected = []
      for (const object of page.items) projected.push(project(object))
    }
    return projected
  }

  /**
   * The objects of a list page by page, so that the caller need not hold all at once. A list that expires is read anew in
   * one piece, which cannot expire.
   * @throws as `list`
   */
  async *pages(apiVersion: string, kind: string, options: ListOptions = {}): AsyncGenerator<ListPage, void, undefined> {
    try {
      yield* this.#pagesOf(apiVersion, kind, options, pageSize)
    } catch (error) {
      if (!isExpired(error)) throw error
      yield* this.#pagesOf(apiVersion, kind, options, undefined)
    }
  }

  async *#pagesOf(
    apiVersion: string,
    kind: string,
    options: ListOptions,
    limit: number | undefined,
  ): AsyncGenerator<ListPage, void, undefined> {
    for (let token: string | undefined, first = true; first || token; first = false) {
      const list = await this.#listOnce(apiVersion, kind, options, limit, token)
      const items = (list.items ?? []).map(item => ({ ...item, apiVersion, kind }))
      yield { items, resourceVersion: list.metadata.resourceVersion, first }
      token = list.metadata.continue
    }
  }

  async #listOnce(
    apiVersion: string,
    kind: string,
    { namespace, labelSelector, fieldSelector, signal, agent }: ListOptions,
    limit: number | undefined,
    token: string | undefined,
  ): Promise<ListBody> {
    const query = { labelSelector, fieldSelector, limit, continue: token }
    const path = collectionPath(apiVersion, kind, namespace)
    return (await this.request('GET', path, undefined, { query, signal, agent, verb: 'list' })) as ListBody
  }

  /**
   * Opens a watch with bookmarks. One attempt; the signal ends it.
   * @throws {KubeError} when refused, and any error of the connection
   */
  async watch(apiVersion: string, kind: string, options: WatchOptions): Promise<OpenWatch> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, timeoutSeconds, signal } = options
    const scope = { labelSelector, fieldSelector, resourceVersion, timeoutSeconds }
    const query = { watch: true, allowWatchBookmarks: true, ...scope }
    const path = collectionPath(apiVersion, kind, namespace)
    const opened = await this.#requester.stream(path, { query, signal, verb: 'watch' })
    return { read: onLine => opened.stream(lineSplitter(onLine)) }
  }

  /** The name of this client's user or ServiceAccount, as the API server knows it. Asked once. Throws as `create`. */
  async account(options: CallOptions = {}): Promise<string> {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
    const path = collectionPath(review.apiVersion, review.kind)
    this.#account ??= ((await this.request('POST', path, review, options)) as SelfReview).status.userInfo.username
    return this.#account
  }

  /** The API server's clock in milliseconds, exact to a second; NaN if its answers have no Date. Throws as `list`. */
  async clockMs(agent?: string): Promise<number> {
    let answeredMs = Number.NaN
    const onDate = (ms: number) => {
      answeredMs = ms
    }
    const path = collectionPath('v1', 'Namespace', undefined)
    await this.request('GET', path, undefined, { query: { limit: 1 }, agent, verb: 'list', onDate })
    return answeredMs
  }

  /**
   * Any request: returns the answer's JSON. Tried again on 401, 429, 5xx and lost connections, within bounds.
   * @throws {KubeError} when refused
   * @throws {RetryLater} when the server does not answer for now
   */
  request(method: Method, path: string, body?: unknown, options: RequestOptions = {}): Promise<unknown> {
    return this.#requester.request(method, path, body, options)
  }

  /**
   * Resolves when no write with this `agent` is in flight. To be awaited between the abort of an operation's signal and
   * the release of its lease. Each write has a deadline (`requestTimeoutSeconds`), and none begins after the abort, so
   * this takes no longer than the deadline. Never rejects.
   */
  settled(agent: string): Promise<void> {
    return this.#requester.settled(agent)
  }

  /** Why the API server cannot be used; undefined if it can be, or was not asked yet. */
  trouble(): Reason | undefined {
    return this.#requester.trouble()
  }

  /** Requests in flight, and requests that wait for a slot; watches are not counted. */
  load(): { readonly inFlight: number; readonly waiting: number } {
    return this.#requester.load()
  }

  /** Closes every connection, at the end of the process. */
  close(): Promise<void> {
    return this.#requester.close()
  }
}

/**
 * The object that the server made. API servers write its kind first; an answer that begins otherwise is read at once.
 * @throws {Error} when the answer is no object of this kind
 */
function createdObject({ apiVersion, kind }: KubeObject, json: Buffer): CreatedObject {
  const head = `{"kind":${JSON.stringify(kind)}`
  const isUsual = json.toString('latin1', 0, head.length) === head
  let metadata = isUsual ? undefined : metadataOf(kind, json)
  return {
    apiVersion,
    kind,
    get metadata() {
      metadata ??= metadataOf(kind, json)
      return metadata
    },
  }
}

function metadataOf(kind: string, json: Buffer): KubeObject['metadata'] {
  const made = JSON.parse(json.toString()) as KubeObject | null
  if (made?.kind !== kind) throw new Error(`the answer to a creation is no ${kind}`)
  return made.metadata
}

const ignored = () => undefined

interface SelfReview {
  readonly status: { readonly userInfo: { readonly username: string } }
}

interface ListBody {
  readonly items: readonly KubeObject[] | null
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
}
