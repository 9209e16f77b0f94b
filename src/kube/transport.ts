/** One pool of kept-alive connections to the API server, replaced when its credentials change. */
import { createSecureContext } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'
import type { Credentials } from './credentials.ts'

/**
 * Shorter than the idle time-outs of API servers and load balancers, which would close a connection during a request.
 */
const keepAliveMs = 30_000

export interface Message {
  readonly method: Dispatcher.HttpMethod
  /** Path and query, below the server's own path. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Ends the exchange at any stage, together with its connection. */
  readonly signal: AbortSignal
  /** Ends it only before its first bytes are sent: a request that has begun continues. */
  readonly startSignal?: AbortSignal | undefined
}

/** A pool and the credentials that its connections use. */
interface Line {
  readonly key: string
  readonly pool: Pool
  readonly dispatcher: Dispatcher
  /** The server's own path, a prefix of every request's path. */
  readonly root: string
}

export class Transport {
  readonly #connectTimeoutMs: number
  #line: Line | undefined
  readonly #retired = new Set<Pool>()

  constructor(connectTimeoutMs: number) {
    this.#connectTimeoutMs = connectTimeoutMs
  }

  /**
   * Sends one message through the pool of these credentials. While it waits for a connection, an abort only marks it as
   * not to be sent, so the promise may settle as late as the connection is opened.
   */
  send(credentials: Credentials, message: Message): Promise<Dispatcher.ResponseData<AbortSignal | undefined>> {
    const { method, headers, body, signal, startSignal } = message
    const { dispatcher, root } = this.#lineFor(credentials)
    return dispatcher.request({
      method,
      path: root + message.path,
      headers,
      body: body ?? null,
      signal,
      opaque: startSignal,
    })
  }

  /** Closes every connection; requests in flight fail. */
  async close(): Promise<void> {
    const pools = [...this.#retired, ...(this.#line ? [this.#line.pool] : [])]
    this.#line = undefined
    await Promise.all(pools.map(pool => pool.destroy()))
  }

  #lineFor(credentials: Credentials): Line {
    if (this.#line?.key === credentials.connectionKey) return this.#line
    if (this.#line) this.#retire(this.#line.pool)
    this.#line = this.#open(credentials)
    return this.#line
  }

  #open({ server, tls, connectionKey }: Credentials): Line {
    const url = new URL(server)
    const pool = new Pool(url.origin, {
      // Watches have connections of their own, so that a hung request delays no other.
      allowH2: false,
      pipelining: 1,
      keepAliveTimeout: keepAliveMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      // Certificates are read once, not for each connection.
      connect: { ...tls, secureContext: createSecureContext(tls), timeout: this.#connectTimeoutMs },
    })
    const dispatcher = pool.compose(refuseLateStart)
    return { key: connectionKey, pool, dispatcher, root: url.pathname.replace(/\/$/, '') }
  }

  /** Lets running requests finish, then closes the pool. */
  #retire(pool: Pool): void {
    this.#retired.add(pool)
    const forget = () => this.#retired.delete(pool)
    pool.close().then(forget, forget)
  }
}

/** The last check before bytes are written: opening a connection may take seconds, and ownership may end meanwhile. */
function refuseLateStart(dispatch: Dispatcher.Dispatch): Dispatcher.Dispatch {
  return (options, handler) => {
    const startSignal = (options as { opaque?: AbortSignal }).opaque
    if (!startSignal) return dispatch(options, handler)
    const start = handler.onRequestStart?.bind(handler)
    handler.onRequestStart = (controller, context) => {
      start?.(controller, context)
      if (startSignal.aborted) controller.abort(startSignal.reason)
    }
    return dispatch(options, handler)
  }
}
