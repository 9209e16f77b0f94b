/**
 * A stand-in for Arvados' API server: its wire, and its rules of containers, as far as a dispatcher uses them. A test can make it
 * answer 503, carry out a request and lose the reply, answer slowly, or answer with something else.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ArvadosContainers, type Fields, newUuid, Refusal, type Standing } from './containers.ts'

/** What happens to a request. `lost`: it is done, and the connection ends without an answer. */
export type Mishap =
  | { readonly kind: 'busy'; readonly retryAfter?: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'instead'; readonly status: number; readonly body: string }

export interface Asked {
  readonly method: string
  /** After `/arvados/v1/`, without the query. */
  readonly path: string
  readonly form: URLSearchParams
}

const mostLimit = 1000

export class ArvadosServer {
  readonly containers = new ArvadosContainers()
  readonly token = `v2/${newUuid('gj3su')}/${'s'.repeat(40)}`
  readonly asked: Asked[] = []
  /** Decides what goes wrong. */
  mishap: (asked: Asked) => Mishap | undefined = () => undefined
  readonly #server: Server

  private constructor() {
    this.#server = createServer((request, response) => void this.#handle(request, response))
  }

  static async start(): Promise<ArvadosServer> {
    const arvados = new ArvadosServer()
    await new Promise<void>(resolve => arvados.#server.listen(0, '127.0.0.1', resolve))
    return arvados
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`
  }

  /** The uuid of the token, by which its locks are known. */
  get tokenUuid(): string {
    return this.token.split('/')[1]!
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://stand-in')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const form = new URLSearchParams(url.search)
    for (const [name, value] of new URLSearchParams(Buffer.concat(chunks).toString())) form.set(name, value)
    const asked = { method: request.method!, path: url.pathname.replace('/arvados/v1/', ''), form }
    this.asked.push(asked)
    const mishap = this.mishap(asked)
    const send = (status: number, body: string, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
    if (mishap?.kind === 'busy')
      return void send(503, '{"errors":["busy"]}', { 'retry-after': String(mishap.retryAfter ?? 0) })
    if (mishap?.kind === 'instead') return void send(mishap.status, mishap.body)
    if (mishap?.kind === 'slow') await new Promise(resolve => setTimeout(resolve, mishap.ms))
    const { status, body } = this.#answer(asked, request.headers.authorization)
    if (mishap?.kind === 'lost') return void request.socket.destroy()
    send(status, JSON.stringify(body))
  }

  #answer(asked: Asked, authorization: string | undefined): { readonly status: number; readonly body: unknown } {
    try {
      if (authorization !== `Bearer ${this.token}`) throw new Refusal(401, 'Not logged in')
      return { status: 200, body: this.#carryOut(asked) }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return { status: error.status, body: { errors: [`${error.message} (req-1)`], error_token: '1+0' } }
    }
  }

  #carryOut({ method, path, form }: Asked): unknown {
    const [collection, uuid, action] = path.split('/')
    if (path === 'api_client_authorizations/current') return { uuid: this.tokenUuid }
    if (collection !== 'containers') throw new Refusal(404, 'Path not found')
    if (method === 'GET' && uuid === undefined) return this.#list(form)
    if (method === 'GET' && action === undefined) return selected(this.containers.find(uuid!), form)
    if (method === 'POST' && (action === 'lock' || action === 'unlock')) {
      const { state, priority, locked_by_uuid } = this.containers[action](uuid!, this.tokenUuid)
      return { uuid, state, priority, locked_by_uuid, auth_uuid: null }
    }
    if (method !== 'PUT' || action !== undefined) throw new Refusal(404, 'Path not found')
    const changes = JSON.parse(form.get('container') ?? '{}') as Fields
    return selected(this.containers.update(uuid!, changes, this.tokenUuid), form)
  }

  #list(form: URLSearchParams): unknown {
    const filters = JSON.parse(form.get('filters') ?? '[]') as [string, string, unknown][]
    const limit = Math.min(mostLimit, Number(form.get('limit') ?? 100))
    const offset = Number(form.get('offset') ?? 0)
    const found = [...this.containers.all.values()].filter(each => filters.every(filter => passes(each, filter)))
    const order = form.get('order')
    found.sort((a, b) => (order === 'priority desc' ? b.priority - a.priority : 0) || (a.uuid < b.uuid ? -1 : 1))
    const items = found.slice(offset, offset + limit).map(each => selected(each, form))
    return { kind: 'arvados#containerList', offset, limit, items }
  }
}

function selected(standing: Standing, form: URLSearchParams): Fields {
  const select = JSON.parse(form.get('select') ?? 'null') as string[] | null
  return select ? Object.fromEntries(select.map(name => [name, standing[name] ?? null])) : standing
}

function passes(standing: Standing, [field, operator, value]: [string, string, unknown]): boolean {
  const own = standing[field]
  if (operator === '=') return own === value
  if (operator === 'in') return (value as unknown[]).includes(own)
  if (operator === '>') return typeof own === 'number' ? own > Number(value) : String(own) > String(value)
  throw new Refusal(422, `Invalid operator '${operator}'`)
}
