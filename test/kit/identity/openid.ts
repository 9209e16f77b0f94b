/** A real OpenID provider where users log in with a browser and any password, as a Hub sends them there. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { decodeJwt, type JWTPayload } from 'jose'
import { Provider } from 'oidc-provider'
import { makeKey, type PrivateKey } from './issuer.ts'
import { listenOn, stopServer, whileAway } from './served.ts'

/** The audience of tokens, as in `hub/examples/zero-to-jupyterhub/skylab.yaml`. */
const audience = 'skylab'
/** The provider's own identifier of that audience. */
const resource = 'https://skylab.example.org/'

/** The secret of all its clients. */
export const clientSecret = 'a secret of the Hub and the provider'

export class OpenIdProvider {
  readonly #server: Server
  readonly #key: PrivateKey
  #answer: ((request: IncomingMessage, response: ServerResponse) => Promise<void>) | undefined
  /** Lifetime of users' tokens that it issues from now on. */
  lifeSeconds = 600
  /** Age of tokens when it issues them: they expire that much earlier than `lifeSeconds` says. */
  agedSeconds = 0
  /** The grant of each issued token, in order: `authorization_code`, `refresh_token`, `client_credentials`. */
  readonly grants: string[] = []

  private constructor(key: PrivateKey) {
    this.#key = key
    this.#server = createServer((request, response) => void this.#answer?.(request, response))
  }

  static async start(): Promise<OpenIdProvider> {
    const provider = new OpenIdProvider(await makeKey('first'))
    await listenOn(provider.#server)
    provider.serve('http://127.0.0.1/')
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Serves from now on, and redirects logged-in users to this address. It forgets earlier logins. */
  serve(callbackUrl: string): void {
    const provider = new Provider(this.url, {
      jwks: { keys: [this.#key] },
      clients: clientsFor(callbackUrl),
      scopes: ['openid', 'exec:notebook', 'admin:jupyterlab'],
      claims: { openid: ['sub', 'preferred_username'] },
      // As with most providers, the ID token holds the user's name.
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

  /** Runs something while nothing listens at its address. */
  whileAway(action: () => Promise<void>): Promise<void> {
    return whileAway(this.#server, action)
  }

  stop(): Promise<void> {
    return stopServer(this.#server)
  }
}

/** Lifetimes whose defaults the provider would print on stdout. */
const artifacts = ['ClientCredentials', 'Grant', 'IdToken', 'Interaction', 'RefreshToken', 'Session']

/** The clients that the example's values name. */
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

/** Claims that the controller needs: a person has UID and GID, a service has a name. */
const claimsOf = ({ accountId, clientId }: { accountId?: string; clientId: string }) =>
  accountId === undefined
    ? { preferred_username: `service-account-${clientId}` }
    : { preferred_username: accountId, uid: 4001, gid: 4001, groups: [] }

/** The claims in a token. */
export const claimsIn = (token: string): JWTPayload => decodeJwt(token)
