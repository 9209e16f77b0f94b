/** Gives the API a port. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import { ApiError } from '../errors.ts'
import { createApi } from './app.ts'
import type { ApiParts } from './env.ts'
import { errorResponse } from './errors.ts'

/**
 * Longer than balancers keep an idle connection (60 s as a rule): whoever closes first while the other sends makes a
 * request fail.
 */
const keepAliveTimeoutMs = 75_000
const headersTimeoutMs = 15_000
/** From the first byte of a request to the last of its body; answers, and so event streams, take what they take. */
const requestTimeoutMs = 30_000
const maxHeaderBytes = 16_384

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
  const server = createServer(
    {
      keepAliveTimeout: keepAliveTimeoutMs,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      maxHeaderSize: maxHeaderBytes,
      // Node's own refusal has no body; that of the listener has.
      requireHostHeader: false,
    },
    getRequestListener(app.fetch, { hostname: 'localhost', errorHandler: badRequest }),
  )
  server.on('clientError', refuse)
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

/** The answer to a request that cannot be given to the app. */
function badRequest(): Response {
  return errorResponse(new ApiError(400, { msg: 'not a well-formed request', type: 'malformed' }))
}

const refusals: Record<string, { status: string; msg: string }> = {
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', msg: 'the headers are too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', msg: 'the request took too long to arrive' },
}

/** Answers what Node could not parse as HTTP in the form of all errors, and hangs up. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, msg } = refusals[error.code ?? ''] ?? { status: '400 Bad Request', msg: 'not a well-formed request' }
  const body = JSON.stringify({ detail: [{ msg, type: 'malformed' }] })
  const head = ['Connection: close', 'Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`]
  socket.end(`HTTP/1.1 ${status}\r\n${head.join('\r\n')}\r\n\r\n${body}`)
}
