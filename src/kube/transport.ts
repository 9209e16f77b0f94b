/** One pool of kept-alive connections to the API server, replaced when what it was made of has changed. */
import { createSecureContext } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'
import type { Credentials } from './credentials.ts'

/** Shorter than the idle time-outs of API servers and load balancers, which would close under a request. */
const keepAliveMs = 30_000

export interface Message {
  readonly method: Dispatcher.HttpMethod
  /** Path and query, below the server's own path. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Ends the exchange wherever it stands, and its connection with it. */
  readonly signal: AbortSignal
  /** Ends it only while nothing is on the wire yet: a request that has begun goes on. */
  readonly startSignal?: AbortSignal | undefined
}

/** What is made once for the credentials that connections are opened with. */
interface Line {
  readonly key: string
  readonly pool: Pool
  readonly dispatcher: Dispatcher
  /** The server's own path, before that of every request. */
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
   * Sends one message by the pool of these credentials. While it waits for a connection an abort only marks it as never
   * to be sent, so the promise may settle as late as the connection does.
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

  /** Closes every connection; what is still under way fails. */
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
      // Watches live on connections of their own, and a hung request holds up no other.
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

  /** Requests on it may end as they would have; then it is gone. */
  #retire(pool: Pool): void {
    this.#retired.add(pool)
    const forget = () => this.#retired.delete(pool)
    pool.close().then(forget, forget)
  }
}

/** The last look before bytes are written: a connection may take seconds to come about, and ownership end meanwhile. */
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
