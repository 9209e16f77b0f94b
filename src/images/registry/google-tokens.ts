/** Tokens for Google's APIs by Google's own library, which uses our connections, limits and authorities. */
import type { AuthClient, GoogleAuth } from 'google-auth-library'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { Deadline, unlessAborted } from '../../base/deadline.ts'
import { isLoopback } from '../../base/loopback.ts'
import { inFull, isKnown, reasonOf } from '../../base/reasons.ts'
import { CredentialCache, type ReadCredentials } from './credential-cache.ts'
import { RegistryError, type RegistryHttp } from './http.ts'

export interface GoogleTokensOptions {
  /** The project of requests, so that the library need not search for one. */
  readonly projectId: string
  /** The JSON key of a service account; undefined for application default credentials. */
  readonly credentials: ReadCredentials
  readonly http: RegistryHttp
  readonly clock: Clock
  /** The longest wait for a token. */
  readonly timeoutMs: number
  /** What a token is good for. Default: to read. */
  readonly scope?: string
}

const readOnly = 'https://www.googleapis.com/auth/cloud-platform.read-only'
/** Loaded on demand: it takes 70 ms and 24 MB. A CommonJS module is its default export, bundled or not. */
const google = async () => (await import('google-auth-library')).default
/** The library's address for tokens, whatever a key contains. */
const googleTokenUrl = 'https://oauth2.googleapis.com/token'
const maxTokenBytes = 1024 * 1024

const keySchema = z.object({
  type: z.literal('service_account'),
  client_email: z.string().min(1),
  private_key: z.string().min(1),
  private_key_id: z.string().nullish(),
  token_uri: z.url().nullish(),
})

export class GoogleTokens {
  readonly #options: GoogleTokensOptions
  readonly #credentials: CredentialCache
  #kept: { readonly of: string | undefined; readonly client: Promise<AuthClient> } | undefined

  constructor(options: GoogleTokensOptions) {
    this.#options = options
    this.#credentials = new CredentialCache(options.credentials, options.clock)
  }

  /**
   * The headers of a request.
   * @throws {RegistryError} when no token is available
   */
  async headers(signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
    const { clock, timeoutMs } = this.#options
    const deadline = new Deadline(clock, timeoutMs, signal)
    try {
      return await unlessAborted(this.#ask(), deadline.signal)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (error instanceof RegistryError) throw error
      // The library's errors contain the failed request with all its data.
      const reason = reasonOf(error)
      const message = isKnown(reason) ? inFull(reason) : (error as Error).message
      throw new RegistryError(`Google gave no token: ${message}`, {
        words: `Google gives no token${isKnown(reason) ? `: ${reason.words}` : ''}`,
      })
    } finally {
      deadline.release()
    }
  }

  /** Drops the token, and reads the key again, after both were refused. */
  async renew(): Promise<void> {
    this.#kept = undefined
    await this.#credentials.renew()
  }

  async #ask(): Promise<Readonly<Record<string, string>>> {
    const client = await this.#client()
    const { token } = await client.getAccessToken()
    if (!token) throw new RegistryError('Google gave no token')
    const quota = client.quotaProjectId === undefined ? {} : { 'x-goog-user-project': client.quotaProjectId }
    return { Authorization: `Bearer ${token}`, ...quota }
  }

  async #client(): Promise<AuthClient> {
    const text = await this.#credentials.current()
    if (this.#kept && this.#kept.of === text) return this.#kept.client
    const kept = { of: text, client: text === undefined ? this.#found() : this.#configured(text) }
    this.#kept = kept
    // Credentials that were not found may be there the next time.
    kept.client.catch(() => {
      if (this.#kept === kept) this.#kept = undefined
    })
    return kept.client
  }

  async #configured(text: string): Promise<AuthClient> {
    const { client_email, private_key, private_key_id, token_uri } = parseKey(text)
    const { JWT } = await google()
    return new JWT({
      email: client_email,
      key: private_key,
      scopes: this.#options.scope ?? readOnly,
      transporterOptions: this.#transport(() => token_uri),
      ...(private_key_id && { keyId: private_key_id }),
    })
  }

  /** Application default credentials: of the environment, of a well-known file, or of the machine. */
  async #found(): Promise<AuthClient> {
    const named = () => (library.jsonContent as { readonly token_uri?: string } | null)?.token_uri
    const { GoogleAuth } = await google()
    const library: GoogleAuth = new GoogleAuth({
      projectId: this.#options.projectId,
      scopes: this.#options.scope ?? readOnly,
      clientOptions: { transporterOptions: this.#transport(named) },
    })
    return library.getClient()
  }

  /** Sends the library's requests like all others, to the key's token address, if it has one. */
  #transport(tokenUri: () => string | null | undefined) {
    const send = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const request = new Request(input, init)
      const url = new URL(request.url === googleTokenUrl ? (tokenUri() ?? googleTokenUrl) : request.url)
      if (url.protocol !== 'https:' && !isLoopback(url.host)) {
        throw new RegistryError(`the key of the service account has token_uri ${url.origin}, which is not https`)
      }
      const { status, header, body } = await this.#options.http.send({
        method: request.method === 'POST' ? 'POST' : 'GET',
        url,
        headers: Object.fromEntries(request.headers),
        body: await request.text(),
        maxBytes: maxTokenBytes,
      })
      const headers = { 'Content-Type': header('content-type') }
      return new Response(body.length > 0 ? body.toString('utf8') : null, { status, headers })
    }
    // Temporary failures have been tried again by then.
    return { fetchImplementation: send, retryConfig: { retry: 0 } }
  }
}

function parseKey(text: string): z.output<typeof keySchema> {
  try {
    const parsed = keySchema.safeParse(JSON.parse(text))
    if (parsed.success) return parsed.data
  } catch {
    // The parser's own message quotes the text.
  }
  throw new RegistryError('the credentials are no JSON key of a service account')
}
