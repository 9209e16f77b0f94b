/**
 * The Kubernetes API as this program uses it: raw JSON with all fields, every delete bound to a UID, and absence
 * believed only when the API server itself reports it.
 */
import type { KubeObject } from '../base/domain.ts'
import { RetryLater } from '../base/errors.ts'
import type { Reason } from '../base/reasons.ts'
import type { CallOptions, Method, OpenStream, RequestOptions } from './call-options.ts'
import type {
  DeleteOptions,
  DeleteOutcome,
  ListOptions,
  ListPage,
  LogOptions,
  MergePatch,
  ObjectIdentity,
  OpenWatch,
  PatchOptions,
  VersionedDeleteOutcome,
  WatchOptions,
} from './calls.ts'
import { type CreatedObject, createdObject } from './created.ts'
import { isExpired, isNotFound, KubeError } from './errors.ts'
import { collectionPath, creationPath, type ObjectRef, objectPath } from './kinds.ts'
import { lineSplitter } from './lines.ts'
import { Requester, type RequesterOptions } from './requester.ts'

export type { Log } from '../base/log.ts'
export type { CallOptions, OnRefusal, OnRequest, OpenStream, RequestOptions } from './call-options.ts'
export type * from './calls.ts'
export type { CreatedObject } from './created.ts'
export { briefly, isAlreadyExists, isExpired, isNotFound, isOverQuota, KubeError } from './errors.ts'
export type { ObjectRef } from './kinds.ts'
export { applyRbac, inOperatorsWords, type Refuser, refuserOf, refusers, remedyOf } from './refusals.ts'
export type KubeClientOptions = RequesterOptions

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
      options.onPage?.()
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

  /**
   * Opens the log of the pod that has this name now: a caller that means one pod compares UIDs before and after. One attempt.
   * @throws {KubeError} when refused, and any error of the connection
   */
  log(pod: Omit<ObjectRef, 'apiVersion' | 'kind'>, options: LogOptions): Promise<OpenStream> {
    const { container, follow, tailLines, ...rest } = options
    const path = objectPath({ apiVersion: 'v1', kind: 'Pod', ...pod }, 'log')
    return this.#requester.stream(path, { ...rest, query: { container, follow, tailLines }, verb: 'log' })
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

const ignored = () => undefined

interface SelfReview {
  readonly status: { readonly userInfo: { readonly username: string } }
}

interface ListBody {
  readonly items: readonly KubeObject[] | null
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
}
