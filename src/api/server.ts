/** Gives the API a port. */
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import type { Limits } from '../config/limits.ts'
import { createApi } from './app.ts'
import { boundConnections, boundPipeline, onClientError } from './connections.ts'
import type { ApiEnv, ApiParts } from './env.ts'
import { errorResponse } from './errors.ts'
import { type Head, settleHead } from './head.ts'
import { hangUp, noTunnel, notHttp, onExpectation } from './refusals.ts'

/** How often it is looked which requests are overdue: one is cut that much later at most. */
const longestLookMs = 1000

export interface ApiServer {
  readonly host: string
  /** The one that was given out, where 0 was asked for. */
  readonly port: number
  /** Ends all event streams cleanly, and from now on each new one at once; other requests are answered as before. */
  endStreams(): void
  /**
   * Takes no connection any more, ends the event streams, and lets requests in flight return.
   * @param graceMs after which the connections that remain are broken
   */
  close(graceMs: number): Promise<void>
}

/** Listens on `config.api.host` and `.port`. Rejects when the port cannot be had. */
export async function startApiServer(parts: Omit<ApiParts, 'draining'>): Promise<ApiServer> {
  const draining = new AbortController()
  const app = createApi({ ...parts, draining: draining.signal })
  const server = serverFor(parts.config.api.limits, (request, env) => app.fetch(request, env))
  // Before the app's own listener, which may send the head at once.
  server.prependListener('request', (_, outgoing) => {
    if (draining.signal.aborted) outgoing.setHeader('Connection', 'close')
    // A connection that was busy when the server closed would stay open for as long as its client keeps it.
    outgoing.once('close', () => server.listening || server.closeIdleConnections())
  })
  const { host, port } = parts.config.api
  await listen(server, host, port)
  return {
    host,
    port: (server.address() as AddressInfo).port,
    endStreams: () => draining.abort(),
    close: async graceMs => {
      draining.abort()
      await close(server, graceMs, parts)
    },
  }
}

type Fetch = (request: Request, env: ApiEnv['Bindings']) => Response | Promise<Response>

/** Reads each head once, and hands on what was read beside the request. */
function listenerFor(limits: Limits, fetch: Fetch): RequestListener {
  const heads = new WeakMap<object, Head>()
  const adapter = getRequestListener(
    (request, env) => fetch(request, { ...(env as HttpBindings), head: heads.get(env.incoming)! }),
    { errorHandler: () => errorResponse(notHttp) },
  )
  return (incoming, outgoing) => {
    heads.set(incoming, settleHead(incoming, limits))
    return adapter(incoming, outgoing)
  }
}

function serverFor(limits: Limits, fetch: Fetch): Server {
  const headersTimeout = limits.headersTimeoutSeconds * 1000
  const server = createServer(
    {
      keepAliveTimeout: limits.keepAliveTimeoutSeconds * 1000,
      headersTimeout,
      // Answers, and so event streams, take what they take.
      requestTimeout: limits.requestTimeoutSeconds * 1000,
      connectionsCheckingInterval: Math.min(longestLookMs, headersTimeout / 2),
      maxHeaderSize: limits.maxHeaderBytes,
      // Node's own refusal has no body; that of the app has.
      requireHostHeader: false,
    },
    boundPipeline(listenerFor(limits, fetch), limits.maxPipelinedRequests),
  )
  // Whoever reads no answer, or sends nothing more and waits for none.
  server.setTimeout(limits.stallTimeoutSeconds * 1000, socket => socket.destroy())
  boundConnections(server, limits.maxConnections)
  server.on('clientError', onClientError)
  server.on('checkExpectation', onExpectation)
  server.on('connect', (_, socket) => hangUp(socket, noTunnel))
  return server
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function close(server: Server, graceMs: number, { clock }: Pick<ApiParts, 'clock'>): Promise<void> {
  const over = new AbortController()
  const closed = new Promise<void>(resolve => server.close(() => resolve()))
  const deadline = clock.sleep(graceMs, over.signal).then(
    () => server.closeAllConnections(),
    () => {},
  )
  await closed
  over.abort()
  await deadline
}
