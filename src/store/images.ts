/**
 * What the replicas know of the registry: the catalogue that one of them made last, as text, and the digests that it told
 * of tags. Both are caches: who finds nothing asks the registry anew.
 */
import type { Connection } from './connection.ts'
import type { Keys } from './keys.ts'

/** How a catalogue stands. Times are Redis' own. */
export interface CatalogueLook {
  /** Absent where there is none. */
  readonly version?: string
  /** Where the version is not the one that was named. */
  readonly body?: string
  /** Since the registry was read. */
  readonly ageMs?: number
  /** Since the registry was last asked, though in vain. */
  readonly sinceAttemptMs?: number
}

/** What a refresh found. */
export interface Refreshed {
  /** Given out once. */
  readonly version: string
  readonly body: string
  /** By tag; null where the tag is no more. */
  readonly digests: ReadonlyMap<string, string | null>
}

/** Of so many tags the digest is remembered beside the catalogue. */
export const maxDigests = 1000

const dayMs = 86_400_000

export interface ImageStoreOptions {
  readonly connection: Connection
  readonly keys: Keys
  /** What a catalogue depends on, in letters and digits: replicas configured otherwise have one of their own. */
  readonly scope: string
  /** From one refresh to the next; what nobody refreshes any more expires ten of them later, but not within a day. */
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
   * How the catalogue stands, in one call, which brings its body only where it is not of the version `known`.
   * @throws {RetryLater} Redis does not answer
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
   * Ends a refresh; `null`: the registry did not tell.
   * @param token of the lease of refreshing
   * @returns false where another holds the lease: nothing was written
   */
  async end(token: string, found: Refreshed | null): Promise<boolean> {
    const told = [...(found?.digests ?? [])].flatMap(([tag, digest]) => [tag, digest ?? ''])
    const args = [token, this.#keepMs, maxDigests, found?.version ?? '', found?.body ?? '', JSON.stringify(told)]
    return (await this.#connection.run('end-refresh', [this.lease, this.#catalogue, this.#digests], args)) === 1
  }

  /** What the registry last told any replica of a tag; null where nobody remembers. */
  async digestOf(tag: string): Promise<string | null> {
    return this.#connection.read('hget', redis => redis.hget(this.#digests, tag))
  }

  /** All tags whose digest is remembered. */
  async remembered(): Promise<string[]> {
    return this.#connection.read('hkeys', redis => redis.hkeys(this.#digests))
  }

  /** What the registry has just told of a tag; null where there is none. */
  async remember(tag: string, digest: string | null): Promise<void> {
    await this.#connection.run('remember-digest', [this.#digests], [this.#keepMs, maxDigests, tag, digest ?? ''])
  }
}
