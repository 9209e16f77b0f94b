/** An HTTP server with all limits of connections and times, which answers by an app. */
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http'
import type { Socket } from 'node:net'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Clock } from '../../base/clock.ts'
import type { Limits } from '../../config/limits.ts'
import { closeWhenIdle } from '../../http/closing.ts'
import { boundConnections, boundSecureConnections } from '../../http/connections.ts'
import { listen } from '../../http/listen.ts'
import type { Certificates } from '../../tls/certificates.ts'
import { createTlsServer } from '../../tls/server.ts'
import type { Carried, Head } from '../request/env.ts'
import { errorResponse } from '../request/errors.ts'
import { settleHead } from '../request/head.ts'
import { boundPipeline, onClientError } from './connections.ts'
import { busy, hangUp, noTunnel, notHttp, onExpectation } from './refusals.ts'
import { type Fetch, type MayUpgrade, Upgrades } from './upgrades.ts'

/** Overdue requests are checked for at this interval, so one is cut at most this much later. */
const longestLookMs = 1000

/** Reads each head once, and passes the result on with the request. */
function listenerFor(limits: Limits, fetch: Fetch): RequestListener {
  const heads = new WeakMap<object, Head>()
  const adapter = getRequestListener(
    async (request, env) => {
      const carried: Carried = { isTaken: false }
      const response = await fetch(request, { ...(env as HttpBindings), head: heads.get(env.incoming)!, carried })
      return carried.isTaken ? RESPONSE_ALREADY_SENT : response
    },
    { errorHandler: () => errorResponse(notHttp) },
  )
  return (incoming, outgoing) => {
    heads.set(incoming, settleHead(incoming, limits))
    return adapter(incoming, outgoing)
  }
}

export interface BoundServer {
  readonly server: Server
  /**
   * Listens; 0 is any free port. Rejects when the port is not available.
   * @returns the port
   */
  listen(host: string, port: number): Promise<number>
  /**
   * Accepts no more connections, and lets requests in flight finish.
   * @param graceMs time after which remaining connections are cut
   */
  close(graceMs: number): Promise<void>
}

/** The server's certificate, and its demands on clients' certificates. */
export interface TlsParts {
  readonly certificates: Certificates
  readonly requireClientCertificate: boolean
}

export interface More {
  /** Default: plain HTTP. */
  readonly tls?: TlsParts | undefined
  /** Whether a request for another protocol goes to the app. Default: none does, and all are answered in HTTP. */
  readonly mayUpgrade?: MayUpgrade | undefined
}

/** A server with the limits of `api.limits`, which answers by `fetch`. */
export function boundServer(limits: Limits, clock: Clock, fetch: Fetch, { tls, mayUpgrade }: More = {}): BoundServer {
  const { server, breakHandshakes } = serverFor(limits, fetch, { tls, mayUpgrade })
  const stop = closeWhenIdle(server)
  const stopListening = () => {
    const closed = stop()
    breakHandshakes()
    return closed
  }
  return {
    server,
    listen: (host, port) => listen(server, host, port),
    close: graceMs => close(server, stopListening, graceMs, clock),
  }
}

function serverFor(limits: Limits, fetch: Fetch, { tls, mayUpgrade = () => false }: More) {
  const headersTimeout = limits.headersTimeoutSeconds * 1000
  const options: ServerOptions = {
    keepAliveTimeout: limits.keepAliveTimeoutSeconds * 1000,
    headersTimeout,
    // The time-out is for requests. Answers, such as event streams, have no limit.
    requestTimeout: limits.requestTimeoutSeconds * 1000,
    connectionsCheckingInterval: Math.min(longestLookMs, headersTimeout / 2),
    maxHeaderSize: limits.maxHeaderBytes,
    // Node's own refusal has no body; the app's has one.
    requireHostHeader: false,
    shouldUpgradeCallback: mayUpgrade,
  }
  const listener = boundPipeline(listenerFor(limits, fetch), limits.maxPipelinedRequests)
  const { server, breakHandshakes } = tls
    ? createTlsServer({ ...tls, http: options, handshakeTimeoutMs: headersTimeout }, listener)
    : { server: createServer(options, listener), breakHandshakes: () => {} }
  // Cuts clients that read no answer, or send nothing more while nothing is sent to them.
  const upgrades = new Upgrades(limits, fetch)
  server.setTimeout(limits.stallTimeoutSeconds * 1000, socket => upgrades.has(socket) || socket.destroy())
  server.on('upgrade', (incoming, socket, head) => upgrades.begin(incoming, socket as Socket, head))
  const refuseBusy = (socket: Socket) => hangUp(socket, busy)
  if (tls) boundSecureConnections(server, limits.maxConnections, refuseBusy)
  else boundConnections(server, limits.maxConnections, refuseBusy)
  server.on('clientError', onClientError)
  server.on('checkExpectation', onExpectation)
  server.on('connect', (_, socket) => hangUp(socket, noTunnel))
  return { server, breakHandshakes }
}

/**
 * Accepts no more connections and lets requests in flight finish; cuts the remaining connections after the grace
 * period.
 */
async function close(server: Server, stopListening: () => Promise<void>, graceMs: number, clock: Clock): Promise<void> {
  const over = new AbortController()
  const closed = stopListening()
  const deadline = clock.sleep(graceMs, over.signal).then(
    () => server.closeAllConnections(),
    () => {},
  )
  await closed
  over.abort()
  await deadline
}
