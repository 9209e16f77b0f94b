/**
 * The replicas' shared cache of the registry: the latest catalogue as text, and the digests of tags. A replica that finds
 * nothing here asks the registry.
 */
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** The state of a catalogue. Times are by Redis' clock. */
export interface CatalogueLook {
  /** Absent if there is no catalogue. */
  readonly version?: string
  /** Present only if the version differs from the named one. */
  readonly body?: string
  /** Time since the registry was read. */
  readonly ageMs?: number
  /** Time since the last attempt to read the registry, successful or not. */
  readonly sinceAttemptMs?: number
}

/** The result of a refresh. */
export interface Refreshed {
  /** Unique for each refresh. */
  readonly version: string
  readonly body: string
  /** Digests by tag; null for a tag that is gone. */
  readonly digests: ReadonlyMap<string, string | null>
}

/** The number of tags whose digests are remembered beside the catalogue. */
export const maxDigests = 1000

const dayMs = 86_400_000

export interface ImageStoreOptions {
  readonly connection: Connection
  readonly keys: Keys
  /** The settings that a catalogue depends on, as letters and digits: replicas with other settings have another one. */
  readonly scope: string
  /** Time between refreshes. Without refreshes a catalogue expires after ten intervals, but not within a day. */
  readonly intervalMs: number
}

export class ImageStore {
  readonly #connection: Connection
  readonly #catalogue: string
  readonly #digests: string
  readonly #keepMs: number
  /** Key of the lease of refreshing. */
  readonly lease: string

  constructor({ connection, keys, scope, intervalMs }: ImageStoreOptions) {
    this.#connection = connection
    this.#catalogue = keys.catalogue(scope)
    this.#digests = keys.digests(scope)
    this.lease = keys.refreshLease(scope)
    this.#keepMs = Math.ceil(Math.max(dayMs, 10 * intervalMs))
  }

  /**
   * Reads the state of the catalogue in one call, and its body only if its version is not `known`.
   * @throws {RetryLater} when Redis does not answer
   */
  async look(known: string | undefined): Promise<CatalogueLook> {
    const answer = await this.#connection.run('read-catalogue', [this.#catalogue], [known ?? ''])
    const [version, body, age, sinceAttempt] = answer as (string | null)[]
    return {
      ...(version && { version }),
      ...(body && { body }),
      ...(age && { ageMs: Number(age) }),
      ...(sinceAttempt && { sinceAttemptMs: Number(sinceAttempt) }),
    }
  }

  /**
   * Ends a refresh; `null`: the registry could not be read.
   * @param token of the lease of refreshing
   * @returns false if another replica holds the lease, so that nothing was written
   */
  async end(token: string, found: Refreshed | null): Promise<boolean> {
    const digests = [...(found?.digests ?? [])].flatMap(([tag, digest]) => [tag, digest ?? ''])
    const args = [token, this.#keepMs, maxDigests, found?.version ?? '', found?.body ?? '', JSON.stringify(digests)]
    return (await this.#connection.run('end-refresh', [this.lease, this.#catalogue, this.#digests], args)) === 1
  }

  /** The last known digest of a tag; null if none is remembered. */
  async digestOf(tag: string): Promise<string | null> {
    return this.#connection.read('hget', redis => redis.hget(this.#digests, tag))
  }

  /** All tags whose digest is remembered. */
  async remembered(): Promise<string[]> {
    return this.#connection.read('hkeys', redis => redis.hkeys(this.#digests))
  }

  /** Remembers the digest of a tag as just read from the registry; null if the tag has none. */
  async remember(tag: string, digest: string | null): Promise<void> {
    await this.#connection.run('remember-digest', [this.#digests], [this.#keepMs, maxDigests, tag, digest ?? ''])
  }
}
