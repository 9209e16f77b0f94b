/** The OpenID provider of the demo of apps: a real one, with a page for name and password, and with tokens for REST. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { html } from 'hono/html'
import type { PrivateKey } from '../../test/kit/identity/issuer.ts'
import { artifacts, gatewayClient, type IssuerExtras, LoginIssuer } from '../../test/kit/identity/login-issuer.ts'
import { groupsOf, type Name, names, scopeOf } from './people.ts'

/** The audience of tokens for REST. */
export const audience = 'skylab'
/** The provider's own identifier of that audience. */
const resource = 'https://skylab.example.org/'
const lifeSeconds = 12 * 3600
const scopes = ['openid', 'exec:notebook', 'admin:jupyterlab']

const page = (title: string, content: ReturnType<typeof html>) => html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
<style>body { font: 1rem sans-serif; max-width: 24rem; margin: 4rem auto } label, button { display: block; margin: 1rem 0 }</style>
<h1>${title}</h1>
${content}
</html>
`

const loginForm = (problem: string) =>
  page(
    'The OpenID provider of this demo',
    html`<p role="alert">${problem}</p>
<form method="post">
<label>Name <input name="name" autofocus required></label>
<label>Password <input name="password" type="password" required></label>
<button>Log in</button>
</form>`,
  )

export type Passwords = Readonly<Record<Name, string>>

export class DemoProvider {
  readonly #issuer: LoginIssuer
  readonly #passwords: Passwords

  private constructor(issuer: LoginIssuer, passwords: Passwords) {
    this.#issuer = issuer
    this.#passwords = passwords
  }

  /** @param site the public address of the gateways */
  static async start(site: string, passwords: Passwords): Promise<DemoProvider> {
    const issuer = await LoginIssuer.start(site, key => extrasFor(key, passwords, name => groups(name)))
    const groups = (name: string) => issuer.people.get(name)?.groups ?? []
    const provider = new DemoProvider(issuer, passwords)
    for (const name of names) provider.joins(name)
    return provider
  }

  get url(): string {
    return this.#issuer.url
  }

  /** How often tokens were given, by the grant. */
  get grants(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {}
    for (const grant of this.#issuer.grants) counts[grant] = (counts[grant] ?? 0) + 1
    return counts
  }

  /** From now on somebody has all groups that are meant. */
  joins(name: Name): void {
    const isDenied = scopeOf[name] !== 'exec:notebook'
    this.#issuer.people.set(name, { groups: groupsOf[name], isDenied })
  }

  /** From now on somebody is of no group. */
  leaves(name: Name): void {
    this.#issuer.people.set(name, { groups: [] })
  }

  /** A token for REST, as a program of this person gets it. */
  async token(name: Name): Promise<string> {
    const response = await fetch(`${this.url}/token`, {
      method: 'POST',
      headers: { Authorization: `Basic ${btoa(`${name}:${this.#passwords[name]}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope: scopeOf[name] }),
    })
    const { access_token: token } = (await response.json()) as { access_token?: string }
    if (token === undefined) throw new Error(`the provider gives ${name} no token: ${response.status}`)
    return token
  }

  stop(): Promise<void> {
    return this.#issuer.stop()
  }
}

function extrasFor(
  key: PrivateKey,
  passwords: Passwords,
  groupsNow: (name: string) => readonly string[],
): IssuerExtras {
  return {
    enter: (request, response) => enter(request, response, passwords),
    clients: names.map(name => ({
      ...{ client_id: name, client_secret: passwords[name], redirect_uris: [], response_types: [] },
      ...{ grant_types: ['client_credentials'], scope: scopeOf[name] },
    })),
    more: {
      scopes,
      ttl: Object.fromEntries(artifacts.map(name => [name, lifeSeconds])),
      extraTokenClaims: (_: unknown, { clientId }: { clientId: string }) =>
        clientId === gatewayClient ? {} : { preferred_username: clientId, groups: groupsNow(clientId) },
      features: {
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: () => ({
            ...{ audience, scope: scopes.join(' '), accessTokenFormat: 'jwt' },
            jwt: { sign: { alg: key.alg, kid: key.kid } },
          }),
        },
        rpInitiatedLogout: {
          enabled: true,
          logoutSource: async (context: { body: string }, form: string) => {
            context.body = `${page('Log out of the OpenID provider of this demo?', html``)}${form}
<button form="op.logoutForm" name="logout" value="yes">Log out</button>`
          },
        },
      },
    } as IssuerExtras['more'] & object,
  }
}

/** Shows the form, and again after a wrong password. */
async function enter(
  request: IncomingMessage,
  response: ServerResponse,
  passwords: Passwords,
): Promise<string | undefined> {
  const form = new URLSearchParams(request.method === 'POST' ? await text(request) : '')
  const name = names.find(each => each === form.get('name'))
  if (name !== undefined && passwords[name] === form.get('password')) return name
  const problem = form.size === 0 ? '' : 'This name and this password are not of one person.'
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' })
  response.end(String(loginForm(problem)))
  return undefined
}
