/**
 * Kept-alive connections to the API server, replaced when its credentials change. Messages go to undici's connections
 * themselves: its request function adds a stream and three objects to each answer, which took half of a request's time.
 */
import { createSecureContext } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'
import type { Credentials } from './credentials.ts'
import { type Ends, Exchange } from './exchange.ts'

/**
 * Shorter than the idle time-outs of API servers (90 s) and load balancers (often 60 s), which would close a connection
 * during a request.
 */
const keepAliveMs = 30_000

export interface Message extends Ends {
  readonly method: Dispatcher.HttpMethod
  /** Path and query, below the server's own path. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** The answer may take hours. */
  readonly endless?: boolean
}

/** The pools of one set of credentials. */
interface Line {
  readonly key: string
  /** For requests that end: as many connections as requests may be in flight. */
  readonly requests: Pool
  /** Each watch has a connection of its own, which counts for no request. */
  readonly streams: Pool
  /** The server's own path, a prefix of every request's path. */
  readonly root: string
}

export class Transport {
  readonly #connectTimeoutMs: number
  readonly #connections: number
  #line: Line | undefined
  readonly #retired = new Set<Pool>()

  /** `connections`: the most that are open at a time, apart from those of watches. */
  constructor(connectTimeoutMs: number, connections: number) {
    this.#connectTimeoutMs = connectTimeoutMs
    this.#connections = connections
  }

  /** Sends one message through a pool of these credentials. */
  send(credentials: Credentials, message: Message): Exchange {
    const { method, headers, body } = message
    const { requests, streams, root } = this.#lineFor(credentials)
    const exchange = new Exchange(message)
    const pool = message.endless ? streams : requests
    if (!message.signal.aborted) {
      pool.dispatch({ method, path: root + message.path, headers, body: body ?? null }, exchange)
    }
    return exchange
  }

  /** Closes every connection; requests in flight fail. */
  async close(): Promise<void> {
    const pools = [...this.#retired, ...(this.#line ? [this.#line.requests, this.#line.streams] : [])]
    this.#line = undefined
    await Promise.all(pools.map(pool => pool.destroy()))
  }

  #lineFor(credentials: Credentials): Line {
    if (this.#line?.key === credentials.connectionKey) return this.#line
    if (this.#line) this.#retire(this.#line)
    this.#line = this.#open(credentials)
    return this.#line
  }

  #open({ server, tls, connectionKey }: Credentials): Line {
    const url = new URL(server)
    const options = {
      allowH2: false,
      // A hung request delays no other.
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Certificates are read once, not for each connection.
      connect: { ...tls, secureContext: createSecureContext(tls), timeout: this.#connectTimeoutMs },
    }
    const requests = new Pool(url.origin, { ...options, connections: this.#connections })
    return {
      key: connectionKey,
      requests,
      streams: new Pool(url.origin, options),
      root: url.pathname.replace(/\/$/, ''),
    }
  }

  /** Lets running requests finish, then closes the pools. */
  #retire({ requests, streams }: Line): void {
    for (const pool of [requests, streams]) {
      this.#retired.add(pool)
      const forget = () => this.#retired.delete(pool)
      pool.close().then(forget, forget)
    }
  }
}
