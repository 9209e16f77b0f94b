/** A real OpenID provider where people log in with a browser, by any password, as a Hub sends them there. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, type JWTPayload } from 'jose'
import { Provider } from 'oidc-provider'
import { makeKey, type PrivateKey } from './issuer.ts'

/** Of the tokens, as `hub/examples/zero-to-jupyterhub/skylab.yaml` has it. */
const audience = 'skylab'
/** By which the provider itself knows what tokens are for. */
const resource = 'https://skylab.example.org/'

/** What its clients prove themselves by. */
export const clientSecret = 'a secret of the Hub and the provider'

export class OpenIdProvider {
  readonly #server: Server
  readonly #key: PrivateKey
  #answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined
  /** Life of users' tokens that are given from now on. */
  lifeSeconds = 600
  /** So much of their life they have behind them when they are given: it goes before `lifeSeconds`. */
  agedSeconds = 0
  /** What tokens were given for, in order: `authorization_code`, `refresh_token`, `client_credentials`. */
  readonly grants: string[] = []

  private constructor(key: PrivateKey) {
    this.#key = key
    this.#server = createServer((request, response) => void this.#answer?.(request, response))
  }

  static async start(): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider(await makeKey('first'))
    await provider.#listen(0)
    provider.serve('http://127.0.0.1/')
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** From now on it answers, and sends those who logged in to this address. Of earlier logins it knows nothing. */
  serve(callbackUrl: string): void {
    const provider = new Provider(this.url, {
      jwks: { keys: [this.#key] },
      clients: clientsFor(callbackUrl),
      scopes: ['openid', 'exec:notebook', 'admin:jupyterlab'],
      claims: { openid: ['sub', 'preferred_username'] },
      // As most providers do: the name of who logged in stands in the ID token.
      conformIdTokenClaims: false,
      findAccount: (_: unknown, id: string) => ({
        accountId: id,
        claims: () => ({ sub: id, preferred_username: id }),
      }),
      issueRefreshToken: () => true,
      ttl: { ...Object.fromEntries(artifacts.map(name => [name, 600])), AccessToken: () => this.lifeSeconds },
      extraTokenClaims: (_: unknown, token: { accountId?: string; clientId: string }) => claimsOf(token),
      formats: {
        customizers: {
          jwt: (_: unknown, __: unknown, { payload }: { payload: { iat: number } }) => {
            payload.iat -= this.agedSeconds
          },
        },
      },
      features: {
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => resource,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            ...{ audience, accessTokenFormat: 'jwt' },
            scope: 'exec:notebook admin:jupyterlab',
            jwt: { sign: { alg: this.#key.alg!, kid: this.#key.kid } },
          }),
        },
      },
    })
    provider.on('grant.success', ({ oidc }) => this.grants.push(oidc.params.grant_type))
    this.#answer = provider.callback()
  }

  /** A token of the Hub's own, as its sidecar gets it. */
  async serviceToken(): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`jupyterhub-service:${encodeURIComponent(clientSecret)}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'admin:jupyterlab' }),
    })
    return ((await response.json()) as { access_token: string }).access_token
  }

  /** Does something while nobody listens at its address. */
  async whileAway(what: () => Promise<void>): Promise<void> {
    const { port } = this.#server.address() as AddressInfo
    await this.stop()
    try {
      await what()
    } finally {
      await this.#listen(port)
    }
  }

  async #listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

/** What it would tell a default for on stdout. */
const artifacts = ['ClientCredentials', 'Grant', 'IdToken', 'Interaction', 'RefreshToken', 'Session']

/** As the example's values name them. */
function clientsFor(callbackUrl: string): object[] {
  return [
    {
      client_id: 'jupyterhub',
      client_secret: clientSecret,
      redirect_uris: [callbackUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'openid exec:notebook',
    },
    {
      client_id: 'jupyterhub-service',
      client_secret: clientSecret,
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
      scope: 'admin:jupyterlab',
    },
  ]
}

/** What the controller asks of a token: a person's has UID and GID, a service's has a name. */
const claimsOf = ({ accountId, clientId }: { accountId?: string; clientId: string }) =>
  accountId === undefined
    ? { preferred_username: `service-account-${clientId}` }
    : { preferred_username: accountId, uid: 4001, gid: 4001, groups: [] }

/** What stands in a token. */
export const claimsIn = (token: string): JWTPayload => decodeJwt(token)
