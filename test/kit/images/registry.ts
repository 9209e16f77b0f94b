/** A registry with Docker's protocol and a token service for it, as far as tests need both. */
import { createHash, randomUUID } from 'node:crypto'
import type { Certificate } from '../kube/server.ts'
import { type Asked, json, LocalServer, type Respond, status } from './server.ts'

const imageType = 'application/vnd.oci.image.manifest.v1+json'
const indexType = 'application/vnd.oci.image.index.v1+json'

interface StoredManifest {
  readonly digest: string
  readonly type: string
  readonly body: string
}

/** Issues tokens to its users, or to everybody if it has no users. */
export class TokenService {
  /** Passwords by user. */
  readonly users = new Map<string, string>()
  readonly identityTokens = new Set<string>()
  /** Stated lifetime of tokens. */
  seconds: number | undefined
  /** Valid tokens. */
  readonly tokens = new Set<string>()

  answer({ method, headers, body }: Asked): Respond {
    if (!this.#knows(method, headers.authorization, new URLSearchParams(body))) return status(401)
    const token = randomUUID()
    this.tokens.add(token)
    const lasts = this.seconds === undefined ? {} : { expires_in: this.seconds }
    return json({ [method === 'POST' ? 'access_token' : 'token']: token, ...lasts })
  }

  #knows(method: string, authorization: string | undefined, form: URLSearchParams): boolean {
    if (method === 'POST') {
      const refresh = form.get('refresh_token') ?? ''
      return form.get('grant_type') === 'refresh_token' && this.identityTokens.has(refresh)
    }
    if (this.users.size + this.identityTokens.size === 0) return authorization === undefined
    return isUser(this.users, authorization)
  }
}

const isUser = (users: ReadonlyMap<string, string>, authorization: string | undefined) =>
  [...users].some(
    ([user, password]) => authorization === `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  )

export class FakeRegistry {
  readonly tokens: TokenService
  readonly repository = 'some/lab'
  /** In the order of the list. */
  tags: string[] = []
  readonly manifests = new Map<string, StoredManifest>()
  /** The authentication that it requires. */
  asks: 'nobody' | 'basic' | 'bearer' = 'nobody'
  /** Address of the token service. Default: the registry itself. */
  realm: string | undefined
  links: 'relative' | 'absolute' = 'relative'
  /** Largest number of tags per page. */
  pageSize = 1000
  #server: LocalServer | undefined

  private constructor(tokens: TokenService) {
    this.tokens = tokens
  }

  static async start(tokens = new TokenService(), tls?: Certificate): Promise<FakeRegistry> {
    const registry = new FakeRegistry(tokens)
    registry.#server = await LocalServer.start((asked, response) => registry.#answer(asked)(asked, response), tls)
    return registry
  }

  get server(): LocalServer {
    return this.#server!
  }

  /** Pushes an image of layers with these sizes in bytes under a tag. Returns the digest of its manifest. */
  push(tag: string, ...layers: number[]): string {
    const manifest = { schemaVersion: 2, config: { size: 1 }, layers: layers.map(size => ({ size })), tag }
    return this.#store(tag, imageType, manifest)
  }

  /** Pushes an index of images of several platforms. */
  pushIndex(tag: string): string {
    return this.#store(tag, indexType, { schemaVersion: 2, manifests: [{ digest: 'sha256:0', size: 500 }], tag })
  }

  #store(tag: string, type: string, content: object): string {
    const body = JSON.stringify(content)
    const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`
    const manifest = { digest, type, body }
    if (!this.tags.includes(tag)) this.tags.push(tag)
    this.manifests.set(tag, manifest).set(digest, manifest)
    return digest
  }

  #answer(asked: Asked): Respond {
    const url = new URL(asked.path, 'http://registry')
    if (url.pathname === '/token') return this.tokens.answer(asked)
    const root = `/v2/${this.repository}/`
    if (!this.#admits(asked.headers.authorization)) return status(401, this.#challenge())
    if (!url.pathname.startsWith(root)) return status(404)
    const rest = url.pathname.slice(root.length)
    if (rest === 'tags/list') return this.#list(url.searchParams)
    const manifest = this.manifests.get(rest.replace(/^manifests\//, ''))
    if (!manifest) return status(404)
    const headers = { 'Content-Type': manifest.type, 'Docker-Content-Digest': manifest.digest }
    return (_, response) => void response.writeHead(200, headers).end(manifest.body)
  }

  #admits(authorization: string | undefined): boolean {
    if (this.asks === 'nobody') return true
    if (this.asks === 'basic') return isUser(this.tokens.users, authorization)
    return this.tokens.tokens.has(/^Bearer (.+)$/.exec(authorization ?? '')?.[1] ?? '')
  }

  #challenge(): Record<string, string> {
    if (this.asks === 'basic') return { 'WWW-Authenticate': 'Basic realm="registry"' }
    const realm = this.realm ?? `${this.server.url}/token`
    const scope = `repository:${this.repository}:pull`
    return { 'WWW-Authenticate': `Bearer realm="${realm}",service="registry",scope="${scope}"` }
  }

  #list(query: URLSearchParams): Respond {
    const from = this.tags.indexOf(query.get('last') ?? '') + 1
    const count = Math.min(Number(query.get('n') ?? this.pageSize), this.pageSize)
    const tags = this.tags.slice(from, from + count)
    const next = `/v2/${this.repository}/tags/list?n=${count}&last=${tags.at(-1)}`
    const target = this.links === 'absolute' ? this.server.url + next : next
    const more = from + count < this.tags.length
    return json({ name: this.repository, tags }, more ? { Link: `<${target}>; rel="next"` } : {})
  }
}
