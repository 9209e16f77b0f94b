/** A server on this machine that records its requests, and fails as a test says. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Certificate } from '../kube/server.ts'

/** One received request. */
export interface Asked {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type Respond = (asked: Asked, response: ServerResponse) => void

export class LocalServer {
  readonly asked: Asked[] = []
  /** Replacements for the next answers, one each. */
  readonly faults: Respond[] = []
  readonly #server: Server
  readonly #scheme: string
  #onAsked: (() => void)[] = []

  private constructor(answer: Respond, tls: Certificate | undefined) {
    const listener = (request: IncomingMessage, response: ServerResponse) => void this.#take(request, response, answer)
    this.#server = tls ? (createTlsServer(tls, listener) as unknown as Server) : createServer(listener)
    this.#scheme = tls ? 'https' : 'http'
  }

  static async start(answer: Respond, tls?: Certificate): Promise<LocalServer> {
    const server = new LocalServer(answer, tls)
    server.#server.listen(0, '127.0.0.1')
    await once(server.#server, 'listening')
    return server
  }

  get host(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get url(): string {
    return `${this.#scheme}://${this.host}`
  }

  /** Methods and paths in order. */
  get lines(): readonly string[] {
    return this.asked.map(({ method, path }) => `${method} ${path}`)
  }

  /** The header `Authorization` of each request. */
  get shown(): readonly (string | undefined)[] {
    return this.asked.map(({ headers }) => headers.authorization)
  }

  /** Resolves after this many requests in all. */
  async whenAsked(count: number): Promise<void> {
    while (this.asked.length < count) await new Promise<void>(resolve => this.#onAsked.push(resolve))
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #take(request: IncomingMessage, response: ServerResponse, answer: Respond): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', url = '', headers } = request
    const asked = { method, path: url, headers, body: Buffer.concat(chunks).toString() }
    this.asked.push(asked)
    const respond = this.faults.shift() ?? answer
    respond(asked, response)
    for (const wake of this.#onAsked.splice(0)) wake()
  }
}

/** An answer with only a status. */
export const status =
  (code: number, headers: Record<string, string | string[]> = {}): Respond =>
  (_, response) => {
    response.writeHead(code, headers).end()
  }

export const json =
  (value: unknown, headers: Record<string, string> = {}, code = 200): Respond =>
  (_, response) => {
    response.writeHead(code, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(value))
  }

/** Faulty answers. */
export const faults = {
  never: () => {},
  'half an answer': (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json' })
    response.write('{"tags": ["a", ')
  },
  'cut off': (_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '1000' })
    response.write('{"tags": ["a", ', () => response.destroy())
  },
  'hung up': (_, response) => void response.destroy(),
  'no JSON': (_, response) => response.end('<html>secret-of-ada</html>'),
  huge: (_, response) => {
    response.writeHead(200)
    // Writes as fast as the client reads, until it stops.
    const more = () => response.write(' '.repeat(65_536), error => void (error ?? more()))
    more()
  },
} as const satisfies Record<string, Respond>
