/** Google on this machine: the REST API of Artifact Registry, and the address of tokens for signed requests. */
import { createPublicKey, createVerify, generateKeyPairSync, randomUUID } from 'node:crypto'
import { type Asked, json, LocalServer, type Respond, status } from './server.ts'

/** An image in the form of the API. */
export interface GoogleImage {
  readonly uri: string
  readonly tags?: readonly string[]
  readonly imageSizeBytes?: string
  readonly mediaType?: string
}

const account = 'reader@some-project.iam.gserviceaccount.com'

export class FakeGoogle {
  /** The images of the one repository. */
  images: GoogleImage[] = []
  /** Largest number of images per page. */
  pageSize = 1000
  /** Stated lifetime of tokens. */
  seconds = 3600
  /** Valid tokens. */
  readonly tokens = new Set<string>()
  /** Claims of the requests for tokens whose signature was right. */
  readonly claims: Record<string, unknown>[] = []
  readonly projectId: string
  /** The API's name of the repository. */
  readonly root: string
  #keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  #server: LocalServer | undefined

  private constructor(projectId: string) {
    this.projectId = projectId
    this.root = `/v1/projects/${projectId}/locations/us-central1/repositories/sciplat`
  }

  static async start(projectId = 'some-project'): Promise<FakeGoogle> {
    const google = new FakeGoogle(projectId)
    google.#server = await LocalServer.start((asked, response) => google.#answer(asked)(asked, response))
    return google
  }

  get server(): LocalServer {
    return this.#server!
  }

  /** The block `images.gar` for an image in it. */
  gar(image = 'sciplat-lab') {
    const place = { projectId: this.projectId, location: 'us-central1', repository: 'sciplat' }
    return { ...place, image, endpoint: this.server.url }
  }

  /** The JSON key of a service account that it accepts, with a test's changes. */
  key(change: object = {}): string {
    const key = this.#keys.privateKey.export({ type: 'pkcs8', format: 'pem' })
    const token_uri = `${this.server.url}/token`
    const known = {
      type: 'service_account',
      client_email: account,
      private_key: key,
      private_key_id: 'first',
      token_uri,
    }
    return JSON.stringify({ ...known, ...change })
  }

  /** Replaces the accepted key, and revokes earlier tokens. */
  rotate(): void {
    this.#keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.tokens.clear()
  }

  /** Requests other than those for tokens. */
  get questions(): readonly string[] {
    return this.server.lines.filter(line => line !== 'POST /token')
  }

  #answer(asked: Asked): Respond {
    const url = new URL(asked.path, 'http://google')
    if (url.pathname === '/token') return this.giveToken(asked)
    const token = /^Bearer (.+)$/.exec(asked.headers.authorization ?? '')?.[1]
    if (!this.tokens.has(token ?? '')) return status(401)
    const rest = url.pathname.startsWith(`${this.root}/`) ? url.pathname.slice(this.root.length + 1) : ''
    if (rest === 'dockerImages') return this.#list(url.searchParams)
    const found = this.#find(rest)
    return found ? json(found) : status(404)
  }

  giveToken({ body }: Asked): Respond {
    const assertion = new URLSearchParams(body).get('assertion') ?? ''
    const [header = '', payload = '', signature = ''] = assertion.split('.')
    const verify = createVerify('RSA-SHA256').update(`${header}.${payload}`)
    if (!verify.verify(createPublicKey(this.#keys.privateKey), signature, 'base64url')) {
      return json({ error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }, {}, 400)
    }
    this.claims.push(JSON.parse(Buffer.from(payload, 'base64url').toString()))
    const token = randomUUID()
    this.tokens.add(token)
    return json({ access_token: token, expires_in: this.seconds, token_type: 'Bearer' })
  }

  #list(query: URLSearchParams): Respond {
    const from = Number(query.get('pageToken') ?? 0)
    const to = from + Math.min(Number(query.get('pageSize')), this.pageSize)
    const more = to < this.images.length ? { nextPageToken: String(to) } : {}
    return json({ dockerImages: this.images.slice(from, to), ...more })
  }

  #find(rest: string): object | undefined {
    const [, image = '', digest] = /^dockerImages\/(.+)@(.+)$/.exec(rest) ?? []
    const path = (name: string) => `${this.projectId}/sciplat/${decodeURIComponent(name)}@`
    if (digest) return this.images.find(({ uri }) => uri.endsWith(path(image) + digest))
    const [, name = '', tag = ''] = /^packages\/(.+)\/tags\/(.+)$/.exec(rest) ?? []
    const tagged = this.images.find(({ uri, tags }) => uri.includes(path(name)) && tags?.includes(tag))
    if (!tagged) return undefined
    const folder = `${this.root.slice('/v1/'.length)}/packages/${name}`
    return { name: `${folder}/tags/${tag}`, version: `${folder}/versions/${tagged.uri.split('@')[1]}` }
  }
}
