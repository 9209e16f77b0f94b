/** The published keys of an OpenID issuer: found by discovery, kept for a while, asked for again when a key is unknown. */
import { type CryptoKey, createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { type ApiError, unavailable } from '../base/errors.ts'
import { isLoopback } from '../base/loopback.ts'
import type { Reason } from '../base/reasons.ts'
import { Slots } from '../base/slots.ts'
import type { OidcConfig } from '../config/identity.ts'
import type { Logger } from '../telemetry/log.ts'
import { IdentitySource, type SourceOptions } from './source.ts'

/** After a failure nobody asks for so long: an issuer that is down is not asked once for each request. */
const failurePauseMs = 1000
/** An issuer has a handful. */
const maxKeys = 100

type KeySet = ReturnType<typeof createLocalJWKSet>

interface Loaded {
  readonly keys: KeySet
  /** When they were asked for, by the monotonic clock. */
  readonly atMs: number
}

export interface IssuerParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>
  readonly onRequest: SourceOptions['onRequest']
}

/**
 * Why not the library's own remote key set: it counts by the wall clock, whose step back would make keys last and new
 * ones wait for as long as the step; it has no pause after a failure; and it takes the address of the keys for known.
 */
export class IssuerKeys {
  readonly #config: OidcConfig
  readonly #clock: Clock
  readonly #source: IdentitySource
  #loaded: Loaded | undefined
  #loading: Promise<Loaded> | undefined
  /** For requests that wait for newer keys. */
  readonly #waiting: Slots
  #failed: { readonly error: ApiError; readonly atMs: number } | undefined

  constructor(config: OidcConfig, { clock, log, onRequest }: IssuerParts) {
    this.#config = config
    this.#clock = clock
    this.#waiting = new Slots(config.maxWaiting)
    this.#source = new IdentitySource({
      name: config.issuer,
      timeoutMs: config.timeoutSeconds * 1000,
      // Discovery, then keys, for all who wait.
      maxInFlight: 1,
      maxWaiting: 1,
      clock,
      log,
      onRequest,
    })
  }

  trouble(): Reason | undefined {
    return this.#source.trouble()
  }

  /** Asks for the keys before anyone needs them. @throws {ApiError} 503 */
  async probe(): Promise<void> {
    await this.#current()
  }

  /**
   * The key that a token's header names. Only the issuer's published keys count, whatever else a header offers.
   * @throws {JOSEError} for a key that the issuer does not have; {ApiError} 503 when the issuer does not say
   */
  readonly keyOf: JWTVerifyGetKey<CryptoKey> = async (header, token) => {
    const loaded = await this.#current()
    try {
      return await loaded.keys(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const newer = await this.#newerThan(loaded)
      if (newer === undefined) throw error
      return newer.keys(header, token)
    }
  }

  /** Undefined while nobody may ask again: a stream of tokens with made-up keys must not become one of requests. */
  async #newerThan(loaded: Loaded): Promise<Loaded | undefined> {
    const cooldownMs = this.#config.keysCooldownSeconds * 1000
    if (this.#loading === undefined && this.#ageOf(loaded) < cooldownMs) return undefined
    // Anybody can make tokens of unknown keys: while the issuer stalls, they must not hold the places of all requests.
    if (!this.#waiting.tryEnter()) throw unavailable('too many wait for newer keys of the issuer')
    try {
      return await this.#load()
    } finally {
      this.#waiting.leave()
    }
  }

  /** Keys no older than they are believed for. Those half as old are replaced beside the request that met them. */
  async #current(): Promise<Loaded> {
    const cacheMs = this.#config.keysCacheSeconds * 1000
    const loaded = this.#loaded
    if (loaded === undefined || this.#ageOf(loaded) >= cacheMs) return this.#load()
    if (this.#ageOf(loaded) >= cacheMs / 2) this.#load().catch(() => {})
    return loaded
  }

  #ageOf({ atMs }: { readonly atMs: number }): number {
    return this.#clock.monotonicMs() - atMs
  }

  #load(): Promise<Loaded> {
    if (this.#loading) return this.#loading
    if (this.#failed && this.#ageOf(this.#failed) < failurePauseMs) return Promise.reject(this.#failed.error)
    const atMs = this.#clock.monotonicMs()
    this.#loading = this.#ask()
      .then(keys => {
        this.#failed = undefined
        this.#loaded = { keys, atMs }
        return this.#loaded
      })
      .catch(error => {
        this.#failed = { error, atMs: this.#clock.monotonicMs() }
        throw error
      })
      .finally(() => {
        this.#loading = undefined
      })
    return this.#loading
  }

  async #ask(): Promise<KeySet> {
    const { issuer } = this.#config
    const { jwks_uri } = await this.#source.get(discoveryUrl(issuer), discovery(issuer))
    return this.#source.get(jwks_uri, keySet)
  }
}

/** OpenID Connect Discovery 1.0, section 4. */
function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Who answers for another issuer is not believed, and keys come by TLS unless issuer and keys are on this machine. */
function discovery(issuer: string) {
  const near = isLoopback(new URL(issuer).host)
  return z.object({
    issuer: z.literal(issuer),
    jwks_uri: z.string().refine(value => {
      const url = URL.parse(value)
      return url !== null && (url.protocol === 'https:' || (near && url.protocol === 'http:' && isLoopback(url.host)))
    }),
  })
}

const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(maxKeys) }).transform(jwks => {
  return createLocalJWKSet(jwks)
})

/** 503: keys are known, but what the issuer publishes cannot be used. */
export function unusableKeys(): ApiError {
  return unavailable('the keys of the issuer cannot be used for now')
}
