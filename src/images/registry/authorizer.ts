/**
 * Authenticates to a registry in the way that it asks for: by a password, or by a token that another host gives for it
 * (Docker's token authentication). Credentials are sent to these two only, and to the second only if it is trusted.
 */
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { unlessAborted } from '../../base/deadline.ts'
import { isLoopback } from '../../base/loopback.ts'
import type { Answer } from '../../http/answer.ts'
import { CredentialCache, type ReadCredentials } from './credential-cache.ts'
import { type Credential, credentialFor } from './docker-config.ts'
import { type Challenge, parseChallenges } from './headers.ts'
import { isSuccess, jsonOf, mayLeadTo, RegistryError, type RegistryHttp } from './http.ts'

export interface AuthorizerOptions {
  /** As configured; selects the credentials. */
  readonly registry: string
  readonly repository: string
  /** The address of the registry. */
  readonly origin: URL
  /** `images.tokenHosts` */
  readonly tokenHosts?: readonly string[] | undefined
  readonly http: RegistryHttp
  readonly clock: Clock
  /** The text of a Docker config.json. */
  readonly credentials: ReadCredentials
}

/** A token as the header that contains it, or a pending request for one. */
interface Token {
  readonly header: Promise<string>
  /** The header, once the token has arrived. */
  shown?: string
  untilMs: number
}

type Password = Extract<Credential, { readonly username: string }>

/** A registry needs one or two tokens; a registry that asks for ever new ones must not fill the memory. */
const maxTokens = 100
const maxTokenBytes = 1024 * 1024
/** Lifetime of a token that does not state one. */
const defaultSeconds = 60

const printable = z.string().regex(/^[\x21-\x7e]+$/)
const tokenSchema = z
  .object({
    token: printable.nullish(),
    access_token: printable.nullish(),
    expires_in: z.number().nullish(),
  })
  .transform(({ token, access_token, expires_in }) => ({
    value: token ?? access_token ?? undefined,
    seconds: expires_in ?? defaultSeconds,
  }))

export class Authorizer {
  readonly #options: AuthorizerOptions
  readonly #credentials: CredentialCache
  /** The registry's last challenge. */
  #challenge: Challenge | undefined
  readonly #tokens = new Map<string, Token>()
  /** The credentials that cached tokens belong to; tokens are not shared between credentials. */
  #tokenCredentials: string | undefined

  constructor(options: AuthorizerOptions) {
    this.#options = options
    this.#credentials = new CredentialCache(options.credentials, options.clock)
  }

  /**
   * The header for a request; undefined until the registry has asked for one.
   * @throws {RegistryError} when no token is available; the next request then tries without
   */
  async header(signal?: AbortSignal): Promise<string | undefined> {
    return this.#challenge && this.#answer(this.#challenge, signal)
  }

  /**
   * The header for a request after a 401.
   * @param challenges the `WWW-Authenticate` of the response
   * @param shown the refused header
   * @throws {RegistryError} when there is no other header to send
   */
  async renewed(challenges: string, shown: string | undefined, signal?: AbortSignal): Promise<string> {
    const challenge = this.#choose(parseChallenges(challenges))
    this.#challenge = challenge
    const header = await this.#answer(challenge, signal)
    // A concurrent request that was refused may have renewed it already.
    if (header !== shown) return header
    for (const [key, token] of this.#tokens) if (token.shown === shown) this.#tokens.delete(key)
    await this.#credentials.renew()
    const other = await this.#answer(challenge, signal)
    if (other === shown) throw this.refused()
    return other
  }

  /** The error if the renewed header is refused too. */
  refused(): RegistryError {
    return new RegistryError(`${this.#options.registry} answered 401 to the credentials that it asked for`, {
      words: 'it refuses the credentials',
    })
  }

  /** Prefers a token to the password itself. */
  #choose(challenges: readonly Challenge[]): Challenge {
    const find = (name: string) => challenges.find(({ scheme }) => scheme === name)
    const bearer = find('bearer')
    const chosen = bearer?.parameters.get('realm') ? bearer : find('basic')
    if (chosen) return chosen
    throw new RegistryError(`${this.#options.registry} asks for credentials in a way that is not known here`)
  }

  async #answer(challenge: Challenge, signal: AbortSignal | undefined): Promise<string> {
    try {
      const text = await unlessAborted(this.#credentials.current(), signal)
      if (text !== this.#tokenCredentials) this.#tokens.clear()
      this.#tokenCredentials = text
      if (challenge.scheme === 'basic') return this.#basic(text)
      return await unlessAborted(this.#bearer(challenge).header, signal)
    } catch (error) {
      // Perhaps the registry's next challenge needs none of the unavailable credentials.
      this.#challenge = undefined
      throw error
    }
  }

  #basic(text: string | undefined): string {
    const { registry } = this.#options
    const credential = this.#find(text)
    const missing = 'asks for credentials, and there are none'
    if (!credential) throw new RegistryError(`${registry} ${missing}`, { words: `it ${missing}` })
    if ('username' in credential) return basicHeader(credential)
    throw new RegistryError(`${registry} asks for credentials with a password, and there is an identity token alone`)
  }

  #find(text: string | undefined): Credential | undefined {
    return text === undefined ? undefined : credentialFor(text, this.#options.registry, this.#options.repository)
  }

  /** Shared by all requests with the same challenge; requested anew when it has expired. */
  #bearer(challenge: Challenge): Token {
    const { clock } = this.#options
    const url = this.#realm(challenge)
    const kept = this.#tokens.get(url.href)
    const nowMs = clock.monotonicMs()
    if (kept && nowMs < kept.untilMs) return kept
    const header = this.#ask(url).then(({ value, seconds }) => {
      const shown = `Bearer ${value}`
      Object.assign(token, { shown, untilMs: nowMs + seconds * 1000 })
      return shown
    })
    const token: Token = { header, untilMs: Number.POSITIVE_INFINITY }
    header.catch(() => this.#tokens.get(url.href) === token && this.#tokens.delete(url.href))
    if (this.#tokens.size >= maxTokens) this.#tokens.clear()
    this.#tokens.set(url.href, token)
    return token
  }

  /** The address of the token service, with the parameters of the challenge. */
  #realm({ parameters }: Challenge): URL {
    const { registry, repository } = this.#options
    const realm = parameters.get('realm') ?? ''
    const url = URL.canParse(realm) ? new URL(realm) : undefined
    if (!url || !this.#mayShow(url)) {
      const where = url ? url.origin : 'nowhere'
      throw new RegistryError(`${registry} sends to ${where} for a token, which is not trusted`)
    }
    const service = parameters.get('service')
    if (service) url.searchParams.set('service', service)
    url.searchParams.set('scope', parameters.get('scope') ?? `repository:${repository}:pull`)
    return url
  }

  /** Whether another host may receive the password: without TLS, an attacker on the way may have named it. */
  #mayShow(url: URL): boolean {
    const { origin, tokenHosts } = this.#options
    if (url.origin === origin.origin) return true
    if (!mayLeadTo(origin, url)) return false
    if (tokenHosts !== undefined) return tokenHosts.includes(url.host)
    return origin.protocol === 'https:' || isLoopback(origin.host)
  }

  async #ask(url: URL): Promise<{ readonly value: string; readonly seconds: number }> {
    const text = await this.#credentials.current()
    const credential = this.#find(text)
    let answer = await this.#request(url, credential)
    if (credential && [401, 403].includes(answer.status)) {
      const newer = await this.#credentials.renew()
      if (newer !== text) answer = await this.#request(url, this.#find(newer))
    }
    if (!isSuccess(answer)) throw new RegistryError(`${url.host} gave no token but ${answer.status}`)
    const { value, seconds } = jsonOf(answer, tokenSchema)
    if (value === undefined) throw new RegistryError(`${url.host} gave no token`)
    return { value, seconds }
  }

  /** Redirects to other hosts are not followed, since the request contains credentials. */
  #request(url: URL, credential: Credential | undefined): Promise<Answer> {
    const { http } = this.#options
    const bounds = { maxBytes: maxTokenBytes }
    if (!credential) return http.send({ method: 'GET', url, ...bounds })
    if ('username' in credential) {
      return http.send({ method: 'GET', url, headers: { Authorization: basicHeader(credential) }, ...bounds })
    }
    const body = new URLSearchParams(url.search)
    body.set('grant_type', 'refresh_token')
    body.set('refresh_token', credential.identityToken)
    body.set('client_id', 'skylab')
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
    return http.send({ method: 'POST', url: new URL(url.pathname, url), headers, body: body.toString(), ...bounds })
  }
}

function basicHeader({ username, password }: Password): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
