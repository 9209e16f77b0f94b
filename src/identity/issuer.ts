/** The published keys of an OpenID issuer: found by discovery, cached, read again when a key is unknown. */
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

/** Pause after a failure, so that an issuer that is down is not asked for each request. */
const failurePauseMs = 1000
/** Issuers have a handful of keys. */
const maxKeys = 100

type KeySet = ReturnType<typeof createLocalJWKSet>

interface Loaded {
  readonly keys: KeySet
  /** Time of the request for them, by the monotonic clock. */
  readonly atMs: number
}

export interface IssuerParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>
  readonly onRequest: SourceOptions['onRequest']
}

/**
 * Replaces the library's remote key set for three reasons. The library uses the wall clock, so a step back would delay
 * both expiry and renewal by the same time. It has no pause after a failure. It needs the address of the keys in
 * advance.
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
      // One at a time: discovery and then keys, for all that wait.
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

  /** Reads the keys before a request needs them. @throws {ApiError} 503 */
  async probe(): Promise<void> {
    await this.#current()
  }

  /**
   * The key that a token's header names. Only the issuer's published keys are used, whatever the header contains.
   * @throws {JOSEError} for a key that the issuer does not have; {ApiError} 503 when the issuer does not answer
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

  /** Undefined during a pause: a stream of tokens with made-up keys must not become a stream of requests. */
  async #newerThan(loaded: Loaded): Promise<Loaded | undefined> {
    const cooldownMs = this.#config.keysCooldownSeconds * 1000
    if (this.#loading === undefined && this.#ageOf(loaded) < cooldownMs) return undefined
    // Anyone can make tokens with unknown keys. While the issuer stalls, they must not occupy all requests.
    if (!this.#waiting.tryEnter()) throw unavailable('too many requests wait for newer keys of the issuer')
    try {
      return await this.#load()
    } finally {
      this.#waiting.leave()
    }
  }

  /** Keys that are not too old. Keys of half that age are replaced in the background. */
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

/** A document of another issuer is refused, and keys must come by TLS unless issuer and keys are on this machine. */
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

/** 503: there are keys, but those that the issuer publishes cannot be used. */
export function unusableKeys(): ApiError {
  return unavailable('the keys of the issuer cannot be used for now')
}
