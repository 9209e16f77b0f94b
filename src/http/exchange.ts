/** Outgoing HTTP/1.1: single requests, with limits on the bytes of an answer and on connections. */
import { createSecureContext, getCACertificates } from 'node:tls'
import { Agent } from 'undici'
import type { Answer } from './answer.ts'
import { LiteralConnector } from './literal.ts'
import { Reception } from './reception.ts'

export interface HttpClientOptions {
  /** Per origin. */
  readonly maxConnections: number
  readonly connections: NamedHosts | LiteralHosts
}

/** Connections to names and addresses, with TLS or without. */
export interface NamedHosts {
  readonly literal?: false
  readonly connectTimeoutMs: number
  /** PEM of authorities that are trusted in addition to the usual ones. */
  readonly authorities?: string | undefined
}

/** Connections to IP addresses alone, without TLS: no name is looked up. */
export interface LiteralHosts {
  readonly literal: true
  /** Of all that a server sends on one connection: heads, bodies, and other parts. */
  readonly maxConnectionBytes: number
}

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT'
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly maxBytes: number
  /** Ends the request at any stage. */
  readonly signal?: AbortSignal | undefined
}

/** Of the head of an answer; more ends its connection. */
const maxHeaderBytes = 16 * 1024

/** It must be closed. */
export class HttpClient {
  readonly #agent: Agent
  readonly #literal: LiteralConnector | undefined

  constructor({ maxConnections, connections }: HttpClientOptions) {
    this.#literal = connections.literal ? new LiteralConnector(connections.maxConnectionBytes) : undefined
    this.#agent = new Agent({
      connections: maxConnections,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: maxHeaderBytes,
      // Signals of requests limit their time.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: connections.literal ? this.#literal!.connect : connectOptions(connections),
    })
  }

  /**
   * The answer, whatever its status; a redirect is an answer too.
   * @throws {AnswerError} for an answer that is too large; the connection's error; the signal's reason
   */
  exchange(request: HttpRequest): Promise<Answer> {
    const { method, url, headers, body = null, signal } = request
    const reception = new Reception(request)
    if (signal?.aborted) return reception.answer
    const { origin, pathname, search } = url
    const sent = { 'User-Agent': 'skylab', ...headers }
    this.#agent.dispatch({ origin, path: pathname + search, method, headers: sent, body }, reception)
    return reception.answer
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    this.#literal?.close()
    await this.#agent.destroy()
  }
}

function connectOptions({ connectTimeoutMs, authorities }: NamedHosts) {
  // A configured list replaces the usual authorities, so they are listed too. Read once, not for each connection.
  const ca = authorities === undefined ? undefined : [...getCACertificates('default'), authorities]
  return { timeout: connectTimeoutMs, ...(ca && { secureContext: createSecureContext({ ca }) }) }
}
