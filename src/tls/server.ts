/** An HTTPS server whose certificate can be replaced while it runs. */
import { constants, type X509Certificate } from 'node:crypto'
import type { RequestListener, Server, ServerOptions } from 'node:http'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { type SecureContextOptions, TLSSocket } from 'node:tls'
import type { Certificates } from './certificates.ts'
import type { Pair } from './files.ts'

export interface TlsServerOptions {
  readonly http: ServerOptions
  readonly certificates: Certificates
  /** Whether a client without a trusted certificate is refused; otherwise it is just not identified. */
  readonly requireClientCertificate: boolean
  readonly handshakeTimeoutMs: number
}

export interface TlsServer {
  readonly server: Server
  /** Closes connections whose handshake is not complete: a server that closes would wait for them. */
  breakHandshakes(): void
}

export function createTlsServer(options: TlsServerOptions, listener: RequestListener): TlsServer {
  const { http, certificates, requireClientCertificate, handshakeTimeoutMs } = options
  const asks = certificates.current.clientCa !== undefined
  const server = createServer(
    {
      ...http,
      ...contextOf(certificates.current),
      handshakeTimeout: handshakeTimeoutMs,
      requestCert: asks,
      rejectUnauthorized: asks && requireClientCertificate,
    },
    listener,
  )
  certificates.onChange(pair => server.setSecureContext(contextOf(pair)))
  // Node's own listener reports them as faults of HTTP, which would be answered without TLS.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_, socket) => socket.destroy())
  return { server: server as unknown as Server, breakHandshakes: followHandshakes(server as unknown as Server) }
}

function contextOf({ cert, key, clientCa }: Pair): SecureContextOptions {
  const common: SecureContextOptions = { cert, key, minVersion: 'TLSv1.2' }
  if (clientCa === undefined) return common
  // A resumed session has the certificate of the connection that began it, and proxies share sessions among clients.
  return { ...common, ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET }
}

function followHandshakes(server: Server): () => void {
  const begun = new Map<string, Socket>()
  const peerOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`
  server.prependListener('connection', (socket: Socket) => {
    const peer = peerOf(socket)
    begun.set(peer, socket)
    socket.once('close', () => begun.get(peer) === socket && begun.delete(peer))
  })
  server.prependListener('secureConnection', (socket: Socket) => begun.delete(peerOf(socket)))
  return () => {
    for (const socket of begun.values()) socket.destroy()
  }
}

/** The certificate of a connection's client; undefined if no client authority vouches for one. */
export function clientCertificateOf(socket: unknown): X509Certificate | undefined {
  return socket instanceof TLSSocket && socket.authorized ? socket.getPeerX509Certificate() : undefined
}
