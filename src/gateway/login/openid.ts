/** The gateway as a client of an OpenID issuer, by openid-client: what is sent, and what its answers mean. */
import * as openid from 'openid-client'
import type { Clock } from '../../base/clock.ts'
import { ApiError, unavailable } from '../../base/errors.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { Reason } from '../../base/reasons.ts'
import type { GatewayOidcConfig } from '../../config/gateway.ts'
import type { OidcConfig } from '../../config/identity.ts'
import { IdentitySource, type SourceOptions, Unclear } from '../../identity/source.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Begun } from './begun.ts'
import { causesOf, isAway, isRefusal, saidBy, statusOf } from './openid-errors.ts'

/** The issuer refuses: this login, or to go on with it. */
export class Denied extends Error {
  override readonly name = 'Denied'
  /** One word of OAuth, or ours. */
  readonly reason: string

  constructor(reason: string) {
    super(`the issuer refuses: ${reason}`)
    this.reason = reason
  }
}

/** The issuer's claims and tokens of a person. */
export interface Told {
  readonly claims: Readonly<Record<string, unknown>>
  readonly subject: string
  /** Granted in so many words: a silent issuer has granted none, or no others. */
  readonly scope?: string | undefined
  readonly refreshToken?: string | undefined
}

export interface OpenIdParts {
  readonly clock: Clock
  readonly log: Pick<Logger, 'warn' | 'info'>
  readonly onRequest: SourceOptions['onRequest']
}

export interface OpenIdOptions extends OpenIdParts {
  readonly issuer: OidcConfig
  readonly client: GatewayOidcConfig
  readonly secret?: string | undefined
  /** Where the issuer sends people after a login, and after a logout. */
  readonly callback: string
  readonly goodbye: string
}

/** Requests that wait for a place. */
const maxWaiting = 1_000

/** The meaning of an answer that cannot be used. */
interface Meaning {
  /** Why one that breaks the protocol is a refusal; default: such an answer is none. */
  readonly unsound?: string
  /** Whether each refusal is of the person, where it is not of the gateway. Default: the word `invalid_grant` alone. */
  readonly isOfPerson?: boolean
}

export class OpenIdClient {
  readonly #options: OpenIdOptions
  readonly #source: IdentitySource
  #known: { readonly configuration: openid.Configuration; readonly atMs: number } | undefined
  #discovering: Promise<openid.Configuration> | undefined

  constructor(options: OpenIdOptions) {
    this.#options = options
    const { issuer, client, clock, log, onRequest } = options
    this.#source = new IdentitySource({
      ...{ name: issuer.issuer, timeoutMs: issuer.timeoutSeconds * 1000, clock, log, onRequest },
      ...{ maxInFlight: client.maxInFlight, maxWaiting },
    })
  }

  trouble(): Reason | undefined {
    return this.#source.trouble()
  }

  /** Reads what the issuer publishes, before somebody logs in. @throws {ApiError} 503 */
  async probe(): Promise<void> {
    await this.#configuration()
  }

  /**
   * Where somebody logs in.
   * @throws {ApiError} 503 where the issuer was never reached
   */
  async begin({ state, nonce, verifier }: Begun): Promise<string> {
    const configuration = await this.#configuration()
    const { client, callback } = this.#options
    const url = openid.buildAuthorizationUrl(configuration, {
      ...client.parameters,
      ...{ redirect_uri: callback, scope: client.scopes.join(' '), state, nonce },
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    })
    return url.href
  }

  /**
   * Turns a code into tokens, and checks all of them.
   * @param query of the address to which the issuer sent the browser back
   * @throws {Denied}; {ApiError} 503
   */
  async finish(query: string, { state, nonce, verifier }: Begun): Promise<Told> {
    const configuration = await this.#configuration()
    const checks = { pkceCodeVerifier: verifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true }
    const url = new URL(`${this.#options.callback}?${query}`)
    return this.#meant(async () => toldBy(await openid.authorizationCodeGrant(configuration, url, checks)), {
      unsound: 'unsound',
    })
  }

  /**
   * Asks the issuer again. The token may be void afterwards, and another one may replace it.
   * @throws {Denied} where the login is over; {Unclear} where only this question has no usable answer; {ApiError} 503
   */
  async again(refreshToken: string, subject: string): Promise<Told> {
    const configuration = await this.#configuration()
    const ask = async () => {
      const tokens = await openid.refreshTokenGrant(configuration, refreshToken)
      return tokens.claims() ? toldBy(tokens) : await this.#userInfo(configuration, tokens, subject)
    }
    return this.#meant(ask, { isOfPerson: true })
  }

  /**
   * Where the issuer ends its own session, and then leads back here; undefined where it has no such address. It has no ID token as
   * a hint: scripts of apps read the page that leads there, and would have a token of the visitor.
   * @throws {ApiError} 503
   */
  async end(): Promise<string | undefined> {
    const configuration = await this.#configuration()
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined
    return openid.buildEndSessionUrl(configuration, { post_logout_redirect_uri: this.#options.goodbye }).href
  }

  /** For an issuer whose answer has no new ID token. */
  async #userInfo(configuration: openid.Configuration, tokens: Tokens, subject: string): Promise<Told> {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) {
      throw new Unclear('the issuer gives no ID token for a refresh token, and has no UserInfo')
    }
    try {
      const claims = await openid.fetchUserInfo(configuration, tokens.access_token, subject)
      return { ...toldOf(tokens), claims, subject }
    } catch (error) {
      // The token was made for this person a moment ago.
      if ([401, 403].includes(statusOf(error) ?? 0)) throw new Denied('user_info')
      throw error
    }
  }

  async #meant<T>(work: () => Promise<T>, { unsound, isOfPerson = false }: Meaning = {}): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const no = causesOf(error).find(each => each instanceof ApiError)
      if (no) throw no
      if (error instanceof Denied) throw error
      const said = saidBy(error)
      if (said !== undefined && error instanceof openid.AuthorizationResponseError && !isAway(said)) {
        throw new Denied(said)
      }
      if (said === 'invalid_grant' || (said !== undefined && isOfPerson && isRefusal(said))) throw new Denied(said)
      const code = said ?? (error as { code?: unknown }).code
      // Nothing else of the error: it may quote tokens.
      this.#options.log.warn({ code, source: this.#options.issuer.issuer }, 'an answer of the issuer cannot be used')
      if (said === undefined && unsound !== undefined) throw new Denied(unsound)
      throw new Unclear('the issuer gives no usable answer')
    }
  }

  /** Asked again after a while; what was published before holds while the issuer is away. */
  async #configuration(): Promise<openid.Configuration> {
    const known = this.#known
    const { clock, issuer } = this.#options
    if (known && clock.monotonicMs() - known.atMs < issuer.keysCacheSeconds * 1000) return known.configuration
    const discovered = this.#discover()
    if (!known) return discovered
    discovered.catch(() => {})
    return known.configuration
  }

  #discover(): Promise<openid.Configuration> {
    this.#discovering ??= this.#meant(() => this.#ask())
      .then(configuration => {
        this.#known = { configuration, atMs: this.#options.clock.monotonicMs() }
        return configuration
      })
      .finally(() => {
        this.#discovering = undefined
      })
    return this.#discovering
  }

  #ask(): Promise<openid.Configuration> {
    const { issuer, client, secret } = this.#options
    const url = new URL(issuer.issuer)
    const metadata = { [openid.clockTolerance]: issuer.clockSkewSeconds }
    return openid.discovery(url, client.clientId, metadata, authentication(client, secret), {
      [openid.customFetch]: (address, { method, headers, body }) => this.#fetch(address, { method, headers, body }),
      timeout: 2 * issuer.timeoutSeconds,
      execute: [
        // TLS shows whose answer it is; the signature shows that it is whole.
        openid.enableNonRepudiationChecks,
        ...(isLoopback(url.host) ? [openid.allowInsecureRequests] : []),
      ],
    })
  }

  #fetch(address: string, init: Pick<openid.CustomFetchOptions, 'method' | 'headers' | 'body'>): Promise<Response> {
    const { protocol, host } = new URL(address)
    if (protocol !== 'https:' && !isLoopback(host)) throw unavailable('an address of the issuer is not https://')
    return this.#source.exchange(address, init as RequestInit)
  }
}

type Tokens = Awaited<ReturnType<typeof openid.refreshTokenGrant>>

function authentication(client: GatewayOidcConfig, secret: string | undefined): openid.ClientAuth {
  if (secret === undefined) return openid.None()
  return client.clientAuthentication === 'client_secret_post'
    ? openid.ClientSecretPost(secret)
    : openid.ClientSecretBasic(secret)
}

function toldBy(tokens: Tokens): Told {
  const claims = tokens.claims()
  if (!claims) throw new Denied('no_id_token')
  return { ...toldOf(tokens), claims, subject: claims.sub }
}

const toldOf = ({ refresh_token, scope }: Tokens) => ({ refreshToken: refresh_token, scope })
