/** A real OpenID provider on this machine, whose users are clients that get a JSON Web Token for their secret. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose'
import { Provider } from 'oidc-provider'
import { configSchema } from '../../../src/config/schema.ts'
import { createOidcIdentity } from '../../../src/identity/oidc.ts'
import { testParts } from './parts.ts'

export const audience = 'https://skylab.example.org/'
const secret = 'a secret that all clients of the test share'
type Fault = (response: ServerResponse) => void

const grant = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] }

/** A client that may have tokens, and additional claims of these. */
export interface Person {
  readonly username: string
  readonly scopes: readonly string[]
  readonly claims?: Readonly<Record<string, unknown>>
}

export type PrivateKey = JWK & { readonly kid: string }

export async function makeKey(kid: string, alg = 'RS256'): Promise<PrivateKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' }
}

/** The provider's storage: its tokens are self-contained, so nothing is stored. */
class Forgetful {
  async upsert() {}
  async find() {}
  async findByUid() {}
  async findByUserCode() {}
  async consume() {}
  async destroy() {}
  async revokeByGrantId() {}
}

export class TestIssuer {
  readonly #server: Server
  readonly #people: readonly Person[]
  #provider: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined
  /** The first key signs. */
  keys: readonly PrivateKey[] = []
  /** Faults that replace answers, by the end of the path. */
  fault: { readonly at: string; readonly answer: Fault } | undefined
  /** Paths of requests, in order. */
  readonly asked: string[] = []

  private constructor(people: readonly Person[]) {
    this.#people = people
    this.#server = createServer((request, response) => {
      const path = request.url ?? ''
      this.asked.push(path)
      if (this.fault && path.endsWith(this.fault.at)) this.fault.answer(response)
      else void this.#provider?.(request, response)
    })
  }

  static async start(people: readonly Person[], keys?: readonly PrivateKey[]): Promise<TestIssuer> {
    const issuer = new TestIssuer(people)
    issuer.#server.listen(0, '127.0.0.1')
    await once(issuer.#server, 'listening')
    issuer.rotate(keys ?? [await makeKey('first')])
    return issuer
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Number of requests for the keys. */
  get keysAsked(): number {
    return this.asked.filter(path => path === '/jwks').length
  }

  /** Publishes these keys from now on; the first one signs. */
  rotate(keys: readonly PrivateKey[]): void {
    this.keys = keys
    const provider = new Provider(this.url, {
      adapter: Forgetful,
      jwks: { keys },
      clients: this.#people.map(({ username, scopes }) => ({
        ...grant,
        client_id: username,
        client_secret: secret,
        ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      })),
      scopes: ['exec:notebook', 'admin:jupyterlab'],
      ttl: { ClientCredentials: 600 },
      extraTokenClaims: (_: unknown, token: { clientId: string }) =>
        this.#people.find(({ username }) => username === token.clientId)?.claims,
      features: {
        clientCredentials: { enabled: true },
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => audience,
          getResourceServerInfo: () => ({
            scope: 'exec:notebook admin:jupyterlab',
            audience,
            accessTokenTTL: 600,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: keys[0]!.alg, kid: keys[0]!.kid } },
          }),
        },
      },
    })
    this.#provider = provider.callback()
  }

  /** A token from the provider itself. */
  async token(username: string): Promise<string> {
    const { scopes } = this.#people.find(person => person.username === username)!
    const body = new URLSearchParams({ grant_type: 'client_credentials', resource: audience })
    if (scopes.length > 0) body.set('scope', scopes.join(' '))
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${encodeURIComponent(username)}:${encodeURIComponent(secret)}`)}` },
      body,
    })
    const answer = (await response.json()) as { access_token?: string }
    if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`)
    return answer.access_token
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

/** The provider `oidc` for this issuer, configured as a test needs. */
export function oidcIdentity(issuer: TestIssuer, change: object = {}) {
  const parts = testParts()
  const oidc = { issuer: issuer.url, audience, ...change }
  const config = configSchema.parse({ identity: { provider: 'oidc', oidc } }).identity.oidc!
  const provider = createOidcIdentity(config, parts)
  const identify = (token?: string) => {
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    return provider.identify(new Headers(headers), 'exec:notebook')
  }
  return { identify, ...parts }
}

/** A token like those of an issuer, with changed claims and header; undefined removes one. */
export async function forge(
  issuer: TestIssuer,
  { claims = {}, header = {}, key = issuer.keys[0]! }: { claims?: object; header?: object; key?: PrivateKey } = {},
): Promise<string> {
  const usual = { alg: key.alg!, kid: key.kid, typ: 'at+jwt' }
  const payload = present({ ...soundClaims(issuer), ...claims })
  return new SignJWT(payload).setProtectedHeader({ ...usual, ...header }).sign(await importJWK(key, key.alg!))
}

/** The claims that an issuer would make of Ada now. */
export function soundClaims(issuer: TestIssuer) {
  const now = nowSeconds()
  return { iss: issuer.url, aud: audience, sub: 'ada', iat: now, exp: now + 60, scope: 'exec:notebook' }
}

export const nowSeconds = () => Math.floor(Date.now() / 1000)

/** A token of parts that were not signed together. */
export function assemble(header: unknown, payload: unknown, signature = ''): string {
  const parts = [JSON.stringify(header), JSON.stringify(payload), signature]
  return parts.map(part => Buffer.from(part).toString('base64url')).join('.')
}

/** The published form of an RSA key. */
export function publicOf({ n, e, kid, alg }: PrivateKey) {
  return { kty: 'RSA' as const, n: n!, e: e!, kid, alg: alg! }
}

const present = (object: object) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
