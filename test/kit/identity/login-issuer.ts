/** A real OpenID provider before which people log in at once, as the gateway sends them there. Its refresh tokens rotate. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { createMemoryAdapter, type Storage } from 'oidc-provider/lib/adapters/memory_adapter.js'
import { makeKey, type PrivateKey } from './issuer.ts'
import { listenOn, stopServer, whileAway } from './served.ts'

/** The secret of the gateway as its client. */
export const gatewaySecret = 'a secret of the gateway and the provider'
export const gatewayClient = 'skylab-gateway'

export interface IssuedPerson {
  readonly groups: readonly string[]
  /** The scope `exec:notebook`. */
  readonly isDenied?: boolean
  readonly claims?: Readonly<Record<string, unknown>>
}

/** What a provider has beside what all have. */
export interface IssuerExtras {
  /**
   * Answers requests for the page of a login.
   * @returns who is in; undefined after a page. Default: `person`, at once
   */
  readonly enter?: (request: IncomingMessage, response: ServerResponse) => Promise<string | undefined>
  /** Clients beside the gateway. */
  readonly clients?: readonly object[]
  /** More of the library's configuration. */
  readonly more?: { readonly features: object }
}

/** What `issued` has. */
const kinds = ['AuthorizationCode', 'RefreshToken', 'AccessToken']
/** Whose lifetimes are set. The defaults print a notice. */
export const artifacts = [
  'ClientCredentials',
  'Grant',
  'IdToken',
  'Interaction',
  'RefreshToken',
  'Session',
  'AccessToken',
]

export class LoginIssuer {
  readonly #server: Server
  readonly #key: PrivateKey
  #provider: Provider
  /** The people who can log in, and stay logged in. Tests change it. */
  readonly people = new Map<string, IssuedPerson>()
  /** The person who logs in next. */
  person = 'ada'
  /** Paths of requests, in order. */
  readonly asked: string[] = []
  /** Of answered requests to the token endpoint. */
  readonly grants: string[] = []
  /** Errors of the token endpoint. */
  readonly errors: string[] = []
  /** Codes and tokens that it gave, by kind. They are opaque, so the provider keeps them by themselves. */
  readonly issued: { readonly kind: string; readonly value: string }[] = []
  /** Grants that the provider has ended, since a token of them was used twice. */
  revoked = 0
  /** What happens to requests for tokens instead of an answer. */
  fault: ((response: ServerResponse) => void) | undefined
  readonly #site: string
  readonly #extras: IssuerExtras

  private constructor(server: Server, key: PrivateKey, site: string, extras: IssuerExtras) {
    this.#server = server
    this.#key = key
    this.#site = site
    this.#extras = extras
    this.#provider = this.#create()
    server.on('request', (request, response) => void this.#serve(request, response))
  }

  /** @param site the public address of the gateway */
  static async start(
    site: string,
    extras: IssuerExtras | ((key: PrivateKey) => IssuerExtras) = {},
  ): Promise<LoginIssuer> {
    const server = createServer()
    await listenOn(server)
    const key = await makeKey('first')
    return new LoginIssuer(server, key, site, typeof extras === 'function' ? extras(key) : extras)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Requests that gateways have sent for tokens, or about people. */
  get calls(): number {
    return this.asked.filter(path => ['/token', '/me'].includes(path)).length
  }

  /** Runs something while nothing listens at its address. */
  whileAway<T>(action: () => Promise<T>): Promise<T> {
    return whileAway(this.#server, action)
  }

  stop(): Promise<void> {
    return stopServer(this.#server)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '').split('?')[0]!
    this.asked.push(path)
    if (path === '/token' && this.fault) return this.fault(response)
    if (path.startsWith('/enter/')) {
      const accountId = this.#extras.enter ? await this.#extras.enter(request, response) : this.person
      if (accountId === undefined) return
      return this.#provider.interactionFinished(request, response, { login: { accountId } })
    }
    return this.#provider.callback()(request, response)
  }

  #create(): Provider {
    const provider = new Provider(this.url, {
      ...{ adapter: this.#storage(), jwks: { keys: [this.#key] } },
      ...{ clients: [this.#client(), ...(this.#extras.clients ?? [])], ...this.#claims() },
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      ttl: Object.fromEntries(artifacts.map(name => [name, 600])),
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/enter/${uid}` },
      ...this.#extras.more,
      features: { devInteractions: { enabled: false }, ...this.#extras.more?.features },
      loadExistingGrant: (context: GrantContext) => this.#grantOf(context),
    })
    provider.on('grant.success', ({ oidc }) => this.grants.push(oidc.params.grant_type))
    provider.on('grant.error', (_, error) => this.errors.push(String(error)))
    provider.on('grant.revoked', () => {
      this.revoked += 1
    })
    return provider
  }

  #storage(): (model: string) => Storage {
    const of = createMemoryAdapter()
    return kind => {
      const storage = of(kind)
      const upsert = storage.upsert.bind(storage)
      storage.upsert = (value, ...rest) => {
        if (kinds.includes(kind)) this.issued.push({ kind, value })
        return upsert(value, ...rest)
      }
      return storage
    }
  }

  /** Nobody is asked for a consent. */
  async #grantOf({ oidc }: GrantContext): Promise<Grant | undefined> {
    const [clientId, { accountId }] = [oidc.client.clientId, oidc.session]
    const known = oidc.session.grantIdFor(clientId)
    if (known !== undefined) return oidc.provider.Grant.find(known)
    const grant = new oidc.provider.Grant({ clientId, accountId })
    grant.addOIDCScope('openid')
    if (this.people.get(accountId)?.isDenied) grant.rejectOIDCScope('exec:notebook')
    else grant.addOIDCScope('exec:notebook')
    await grant.save()
    return grant
  }

  #client(): object {
    return {
      client_id: gatewayClient,
      client_secret: gatewaySecret,
      redirect_uris: [`${this.#site}/console/callback`],
      post_logout_redirect_uris: [`${this.#site}/console/logout`],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_basic',
      scope: 'openid exec:notebook',
    }
  }

  #claims(): object {
    return {
      scopes: ['openid', 'exec:notebook'],
      claims: { openid: ['sub', 'preferred_username', 'groups'] },
      // As with most providers, the ID token holds the names.
      conformIdTokenClaims: false,
      findAccount: (_: unknown, id: string) => {
        const person = this.people.get(id)
        if (!person) return undefined
        const { groups, claims } = person
        return { accountId: id, claims: () => ({ sub: id, preferred_username: id, groups, ...claims }) }
      },
    }
  }
}

interface Grant {
  addOIDCScope(scope: string): void
  rejectOIDCScope(scope: string): void
  save(): Promise<unknown>
}

interface GrantContext {
  readonly oidc: {
    readonly provider: { readonly Grant: (new (of: object) => Grant) & { find(id: string): Promise<Grant> } }
    readonly client: { readonly clientId: string }
    readonly session: { readonly accountId: string; grantIdFor(clientId: string): string | undefined }
  }
}
