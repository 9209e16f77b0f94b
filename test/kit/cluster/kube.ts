/** The cluster as its administrator sees it: tests inspect and break objects with it. */
import { Agent, request } from 'node:https'
import { KubeConfig } from '@kubernetes/client-node'
import type { KubeObject } from '../../../src/base/domain.ts'
import { creationPath, objectPath } from '../../../src/kube/kinds.ts'

export interface KubeAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: each test reads other fields of Kubernetes objects
  readonly body: any
}

/** The API server closes a connection that was free for 90 s, perhaps as a request leaves. This side closes it before. */
const freeMs = 30_000

export class AdminKube {
  readonly #config = new KubeConfig()
  #agent: Promise<{ agent: Agent; headers: Record<string, string> }> | undefined

  constructor(kubeconfig: string) {
    this.#config.loadFromFile(kubeconfig)
  }

  /** One request. A body of PATCH is a merge patch. Headers may impersonate a user (`Impersonate-User`) of some groups. */
  async request(
    method: string,
    path: string,
    body?: object,
    more: Readonly<Record<string, string | string[]>> = {},
  ): Promise<KubeAnswer> {
    this.#agent ??= this.#connect()
    const { agent, headers: credentials } = await this.#agent
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const text = body === undefined ? '' : JSON.stringify(body)
    // Node sets no length for a DELETE's body by itself: the server would take it for the next request.
    const headers = { ...credentials, ...more, 'content-type': type, 'content-length': Buffer.byteLength(text) }
    return new Promise((resolve, reject) => {
      const url = `${this.#config.getCurrentCluster()!.server}${path}`
      const outgoing = request(url, { method, headers, agent, timeout: 15_000 }, answer => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.once('error', reject)
        answer.once('end', () => {
          resolve({ status: answer.statusCode ?? 0, body: parse(Buffer.concat(chunks).toString()) })
        })
      })
      outgoing.once('timeout', () => outgoing.destroy(new Error(`no answer to ${method} ${path}`)))
      outgoing.once('error', reject)
      outgoing.end(text)
    })
  }

  /** @throws when refused */
  async create(object: KubeObject): Promise<KubeObject> {
    const path = creationPath(object.apiVersion, object.kind, object.metadata.namespace)
    return this.#must('POST', path, object)
  }

  /** Null if there is no such object. */
  async get(kind: string, name: string, namespace?: string): Promise<KubeAnswer['body']> {
    const path = pathOf(kind, name, namespace)
    const answer = await this.request('GET', path)
    if (answer.status === 404) return null
    if (answer.status >= 300) throw refused('GET', path, answer)
    return answer.body
  }

  /** Merges into an object, or into its status. */
  patch(
    kind: string,
    name: string,
    namespace: string | undefined,
    patch: object,
    subresource = '',
  ): Promise<KubeObject> {
    return this.#must('PATCH', `${pathOf(kind, name, namespace)}${subresource && `/${subresource}`}`, patch)
  }

  /** Deletes an object, if there is one. */
  async delete(kind: string, name: string, namespace?: string, graceSeconds?: number): Promise<void> {
    const path = pathOf(kind, name, namespace)
    const options = graceSeconds === undefined ? undefined : { gracePeriodSeconds: graceSeconds }
    const answer = await this.request('DELETE', path, options)
    if (answer.status >= 300 && answer.status !== 404 && answer.status !== 409) throw refused('DELETE', path, answer)
  }

  /** Items of a path such as `/api/v1/namespaces`. */
  async list(path: string, labelSelector = ''): Promise<readonly KubeObject[]> {
    const query = labelSelector && `?labelSelector=${encodeURIComponent(labelSelector)}`
    return ((await this.#must('GET', `${path}${query}`)) as unknown as { items: KubeObject[] }).items
  }

  close(): void {
    void this.#agent?.then(({ agent }) => agent.destroy())
  }

  async #must(method: string, path: string, body?: object): Promise<KubeObject> {
    const answer = await this.request(method, path, body)
    if (answer.status >= 300) throw refused(method, path, answer)
    return answer.body
  }

  async #connect() {
    const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] & { headers?: Record<string, string> } = {}
    await this.#config.applyToHTTPSOptions(options)
    const { ca, cert, key } = options as { ca?: Buffer; cert?: Buffer; key?: Buffer }
    const trust = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
    const agent = new Agent({ ...trust, keepAlive: true, timeout: freeMs })
    return { agent, headers: { ...options.headers } }
  }
}

/** Bodies that are not JSON become a message. */
function parse(text: string): KubeAnswer['body'] {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text }
  }
}

const apiVersions: Readonly<Record<string, string>> = {
  ...{ NetworkPolicy: 'networking.k8s.io/v1', DaemonSet: 'apps/v1' },
  RoleBinding: 'rbac.authorization.k8s.io/v1',
}

const pathOf = (kind: string, name: string, namespace?: string) =>
  objectPath({ apiVersion: apiVersions[kind] ?? 'v1', kind, name, ...(namespace !== undefined && { namespace }) })

const refused = (method: string, path: string, { status, body }: KubeAnswer) =>
  new Error(`${method} ${path}: ${status} ${body?.message ?? ''}`)
