/**
 * A pretended server of metrics, behind an API server: it speaks as much of `metrics.k8s.io` as the aggregation needs and as
 * metrics-server answers, by pages too. It remembers what it was asked.
 */
import { EventEmitter, once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../kube/server.ts'

const root = '/apis/metrics.k8s.io/v1beta1'

export interface Figure {
  readonly namespace: string
  readonly name: string
  readonly labels?: Readonly<Record<string, string>>
  /** A quantity, as each container's. */
  readonly cpu: string
}

export class FakeMetrics {
  readonly #server: Server
  readonly #events = new EventEmitter()
  readonly #lists: URLSearchParams[] = []
  figures: readonly Figure[] = []
  /** The status of each answer to a list. */
  status = 200
  /** Pods of a page; default: no pages, as metrics-server. */
  pageSize = Number.POSITIVE_INFINITY

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request, response) => {
      const url = new URL(request.url!, 'https://metrics')
      const [code, body] = this.#answer(url)
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  }

  static async start({ cert, key }: Certificate): Promise<FakeMetrics> {
    const server = createServer({ cert, key })
    const listening = once(server, 'listening')
    server.listen(0, '127.0.0.1')
    await listening
    return new FakeMetrics(server)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Queries of the requests for lists until now. */
  get lists(): readonly URLSearchParams[] {
    return this.#lists
  }

  /** Resolves at the next request for a list. */
  async nextList(): Promise<void> {
    await once(this.#events, 'list', { signal: AbortSignal.timeout(30_000) })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }

  #answer({ pathname, searchParams }: URL): [code: number, body: object] {
    if (pathname === root) return [200, resources]
    if (pathname !== `${root}/pods`) return [404, failure(404, 'NotFound')]
    this.#lists.push(searchParams)
    this.#events.emit('list')
    if (this.status !== 200) return [this.status, failure(this.status, 'ServiceUnavailable')]
    const [label = '', value] = (searchParams.get('labelSelector') ?? '').split('=')
    const chosen = this.figures.filter(({ labels }) => label === '' || labels?.[label] === value)
    const from = Number(searchParams.get('continue') ?? 0)
    const to = from + Math.min(this.pageSize, Number(searchParams.get('limit') ?? chosen.length))
    const more = to < chosen.length && this.pageSize < chosen.length
    const page = this.pageSize < chosen.length ? chosen.slice(from, to) : chosen
    return [200, listOf(page, more ? String(to) : '')]
  }
}

const apiVersion = 'metrics.k8s.io/v1beta1'

const resources = {
  ...{ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion },
  resources: [{ name: 'pods', singularName: '', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] }],
}

const failure = (code: number, reason: string) => ({
  ...{ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: 'unable to fetch pod metrics', reason, code },
})

function listOf(figures: readonly Figure[], next: string): object {
  const timestamp = new Date().toISOString()
  const items = figures.map(({ namespace, name, labels = {}, cpu }) => ({
    metadata: { namespace, name, labels, creationTimestamp: timestamp },
    ...{ timestamp, window: '15s', containers: [{ name: 'notebook', usage: { cpu, memory: '64Mi' } }] },
  }))
  return { kind: 'PodMetricsList', apiVersion, metadata: { continue: next }, items }
}
