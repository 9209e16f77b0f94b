/** Reads Gafaelfawr's data of a token and its user: `GET {base}/auth/api/v1/user-info`, and `token-info`. */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Identity } from '../base/domain.ts'
import { ApiError } from '../base/errors.ts'
import type { Reason } from '../base/reasons.ts'
import { SlotsByKey } from '../base/slots.ts'
import type { GafaelfawrConfig } from '../config/identity.ts'
import type { Logger } from '../telemetry/log.ts'
import { absentable, group, notebookQuota, posixId } from './metadata.ts'
import { IdentitySource, type SourceOptions } from './source.ts'

export type UserInfo = Omit<Identity, 'token' | 'scopes'>

export interface UserInfoParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'info'>
  readonly onRequest: SourceOptions['onRequest']
}

const userInfo = z
  .object({
    username: z.string().min(1),
    uid: absentable(posixId),
    gid: absentable(posixId),
    groups: absentable(z.array(group)),
    quota: absentable(z.object({ notebook: absentable(notebookQuota) })),
  })
  .transform(
    ({ username, uid, gid, groups, quota }): UserInfo => ({
      username,
      groups: groups ?? [],
      ...(uid !== undefined && { uid }),
      ...(gid !== undefined && { gid }),
      ...(quota?.notebook && { quota: quota.notebook }),
    }),
  )

const tokenInfo = z.object({ scopes: z.array(z.string()) })

interface Cached {
  readonly info: UserInfo
  readonly untilMs: number
}

export class UserInfoClient {
  readonly #url: string
  readonly #tokenUrl: string
  readonly #cacheMs: number
  readonly #maxCached: number
  readonly #clock: Clock
  readonly #source: IdentitySource
  /** Hashes tokens, which are not stored themselves. */
  readonly #key = createSecretKey(randomBytes(32))
  readonly #cached = new Map<string, Cached>()
  readonly #asking = new Map<string, Promise<UserInfo>>()
  /** Waiting requests, by the user name that the ingress vouches for. */
  readonly #waiting: SlotsByKey

  constructor(config: GafaelfawrConfig, { clock, log, onRequest }: UserInfoParts) {
    const api = `${config.baseUrl.replace(/\/+$/, '')}/auth/api/v1`
    this.#url = `${api}/user-info`
    this.#tokenUrl = `${api}/token-info`
    this.#cacheMs = config.cacheSeconds * 1000
    this.#maxCached = config.maxCached
    this.#waiting = new SlotsByKey(config.maxWaitingPerUser)
    this.#clock = clock
    this.#source = new IdentitySource({
      name: 'Gafaelfawr',
      timeoutMs: config.timeoutSeconds * 1000,
      maxInFlight: config.maxInFlight,
      maxWaiting: config.maxWaiting,
      clock,
      log,
      onRequest,
    })
  }

  trouble(): Reason | undefined {
    return this.#source.trouble()
  }

  /** Asks without a token, before a request needs an answer. @throws {ApiError} 503 */
  probe(): Promise<void> {
    return this.#source.reach(this.#url)
  }

  /**
   * Asks at most once for all concurrent requests with one token, and not again for `cacheSeconds`. Failures are not
   * cached.
   * @param username the user name from the ingress; only a limited number of requests of one user may wait
   * @throws {ApiError} 401 and 403 as Gafaelfawr answers; 429 when too many wait; 503 for an unclear answer
   */
  async infoOf(token: string, username: string): Promise<UserInfo> {
    const hash = createHmac('sha256', this.#key).update(token).digest('base64')
    const cached = this.#cached.get(hash)
    if (cached && this.#clock.monotonicMs() < cached.untilMs) return cached.info
    const leave = this.#enter(username)
    try {
      return await (this.#asking.get(hash) ?? this.#ask(hash, token))
    } finally {
      leave()
    }
  }

  /**
   * The current scopes of a token. Only creations ask for them, so nothing is cached.
   * @throws {ApiError} as `infoOf`
   */
  async scopesOf(token: string, username: string): Promise<readonly string[]> {
    const leave = this.#enter(username)
    try {
      return (await this.#source.get(this.#tokenUrl, tokenInfo, token)).scopes
    } finally {
      leave()
    }
  }

  #enter(username: string): () => void {
    const leave = this.#waiting.tryEnter(username)
    if (leave) return leave
    throw new ApiError(429, { msg: 'too many requests at once', type: 'too_many' }, { 'Retry-After': '1' })
  }

  #ask(hash: string, token: string): Promise<UserInfo> {
    this.#cached.delete(hash)
    // Cached from the time of the question, not of the answer.
    const untilMs = this.#clock.monotonicMs() + this.#cacheMs
    const asking = this.#source
      .get(this.#url, userInfo, token)
      .then(info => {
        this.#remember(hash, { info, untilMs })
        return info
      })
      .finally(() => this.#asking.delete(hash))
    this.#asking.set(hash, asking)
    return asking
  }

  #remember(hash: string, cached: Cached): void {
    this.#cached.set(hash, cached)
    if (this.#cached.size > this.#maxCached) this.#cached.delete(this.#cached.keys().next().value!)
  }
}
