/** The port of a gateway: connections with bounds and times, one request of each at a time, and its drain. */
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { type Socket, Server as TcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import type { GatewayConfig } from '../../config/gateway.ts'
import type { Limits } from '../../config/limits.ts'
import { whenAnswered } from '../../http/answered.ts'
import { boundConnections, boundSecureConnections } from '../../http/connections.ts'
import { listen } from '../../http/listen.ts'
import type { Certificates } from '../../tls/certificates.ts'
import { createTlsServer } from '../../tls/server.ts'
import { hangUp, type Refusal, refusalOf, tooMany } from './refusals.ts'

/** Answers requests and upgrades. Neither method rejects. */
export interface Doorman {
  request(incoming: IncomingMessage, outgoing: ServerResponse): void
  upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): void
}

export interface DoorOptions {
  readonly limits: Limits
  readonly gateway: GatewayConfig
  readonly clock: Clock
  /** Default: plain HTTP. */
  readonly certificates?: Certificates | undefined
}

/** Overdue heads are looked for at this interval. */
const longestLookMs = 1000

export class Door {
  readonly #options: DoorOptions
  readonly #server: Server
  readonly #breakHandshakes: () => void
  readonly #doorman: Doorman
  /** Requests of a connection that are not answered: the first is served, the others wait. */
  readonly #owed = new Map<Duplex, ServerResponse[]>()
  /** Open connections that asked to leave HTTP: Node's server counts them no longer. */
  readonly #upgraded = new Set<Socket>()
  #isDraining = false

  constructor(options: DoorOptions, doorman: Doorman) {
    this.#options = options
    this.#doorman = doorman
    const { server, breakHandshakes } = this.#create()
    this.#server = server
    this.#breakHandshakes = breakHandshakes
    this.#watchSilence()
    const carry = (incoming: IncomingMessage, outgoing: ServerResponse) =>
      this.#queue(incoming, outgoing, () => doorman.request(incoming, outgoing))
    server.on('request', carry)
    // Without it Node would answer 100 itself, where the app decides.
    server.on('checkContinue', carry)
    server.on('checkExpectation', (incoming, outgoing) => {
      const refuse = () => outgoing.writeHead(417, { Connection: 'close', 'Content-Length': 0 }).end()
      this.#queue(incoming, outgoing, refuse)
    })
    server.on('upgrade', (incoming, socket, head) => this.#upgrade(incoming, socket as Socket, head))
    server.on('connect', (_, socket) => {
      if (this.#isOwed(socket)) socket.destroy()
      else this.#hangUp(socket, refusalOf('CONNECT'))
    })
    server.on('clientError', (error, socket) => this.#onClientError(error, socket))
  }

  /** @returns the port, if 0 was requested. Rejects if it is not available. */
  listen(host: string, port: number): Promise<number> {
    return listen(this.#server, host, port)
  }

  /** Each connection closes after its next answer. */
  beginDrain(): void {
    this.#isDraining = true
    for (const owed of this.#owed.values()) for (const outgoing of owed) outgoing.shouldKeepAlive = false
  }

  /**
   * Accepts no more connections. Idle ones stay: a request may be on its way there, and its answer closes them.
   * @returns when all are closed
   */
  stopAccepting(): Promise<void> {
    // The HTTP server's own method would close idle connections by itself.
    const closed = new Promise<void>(resolve => TcpServer.prototype.close.call(this.#server, () => resolve()))
    this.#breakHandshakes()
    return closed
  }

  /** Cuts what is left, also what has left HTTP. */
  cut(): void {
    this.#server.closeAllConnections()
    for (const socket of this.#upgraded) socket.destroy()
  }

  #create(): { server: Server; breakHandshakes: () => void } {
    const { limits, gateway, certificates } = this.#options
    const headersTimeout = limits.headersTimeoutSeconds * 1000
    const http: ServerOptions = {
      keepAliveTimeout: limits.keepAliveTimeoutSeconds * 1000,
      headersTimeout,
      // An upload may take as long as it likes, while bytes come.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(longestLookMs, headersTimeout / 2),
      maxHeaderSize: limits.maxHeaderBytes,
      requireHostHeader: false,
      // Most requests have no body: nothing is to be read of them, and nobody waits for their end.
      optimizeEmptyRequests: true,
    }
    const none = () => {}
    const made = certificates
      ? createTlsServer(
          { certificates, http, requireClientCertificate: false, handshakeTimeoutMs: headersTimeout },
          none,
        )
      : { server: createServer(http), breakHandshakes: none }
    if (certificates) made.server.off('request', none)
    const refuse = (socket: Socket) => this.#hangUp(socket, tooMany)
    if (certificates) boundSecureConnections(made.server, gateway.limits.connections, refuse)
    else boundConnections(made.server, gateway.limits.connections, refuse)
    return made
  }

  /** Cuts a client that takes nothing of what waits for it, and a connection on which nothing moves at all. */
  #watchSilence(): void {
    const { limits, gateway, clock } = this.#options
    const stallMs = limits.stallTimeoutSeconds * 1000
    const silentSince = new WeakMap<Socket, { readonly bytes: number; readonly atMs: number }>()
    this.#server.setTimeout(stallMs, socket => {
      // The same event ends the time of a connection that is kept for another request.
      if (!this.#isOwed(socket) && !this.#upgraded.has(socket)) {
        socket.destroy()
        return
      }
      const bytes = socket.bytesRead + socket.bytesWritten - socket.writableLength
      const before = silentSince.get(socket)
      const nowMs = clock.monotonicMs()
      const since = before?.bytes === bytes ? before : { bytes, atMs: nowMs - stallMs }
      silentSince.set(socket, since)
      // Half a second for clocks that differ.
      const isSilent = nowMs - since.atMs + 500 >= gateway.idleSeconds * 1000
      if (socket.writableLength > 0 || isSilent) socket.destroy()
      else socket.setTimeout(stallMs)
    })
  }

  #upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer): void {
    // It came in a row with a request whose answer still has the socket. No browser does so.
    if (this.#isOwed(socket)) {
      socket.destroy()
      return
    }
    this.#upgraded.add(socket)
    socket.once('close', () => this.#upgraded.delete(socket))
    this.#doorman.upgrade(incoming, socket, head)
  }

  #queue(incoming: IncomingMessage, outgoing: ServerResponse, serve: () => void): void {
    const { socket } = incoming
    if (this.#isDraining) outgoing.shouldKeepAlive = false
    const owed = this.#owed.get(socket) ?? this.#known(socket)
    owed.push(outgoing)
    // Only clients that read no answer have so many.
    if (owed.length > this.#options.limits.maxPipelinedRequests) socket.destroy()
    whenAnswered(outgoing, () => {
      owed.shift()
      if (!socket.destroyed) owed[0]?.emit('turn')
    })
    if (owed.length === 1) serve()
    else outgoing.once('turn', serve)
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    // A request of it may be on its way to an app already, whose answer is not ours to give.
    const isOwed = this.#isOwed(socket)
    if (error.code === 'ECONNRESET' || !socket.writable || isOwed) socket.destroy()
    else this.#hangUp(socket, refusalOf(error.code))
  }

  #hangUp(socket: Duplex, refusal: Refusal): void {
    hangUp(socket, refusal, this.#options.gateway.appDomain !== undefined)
  }

  #isOwed(socket: Duplex): boolean {
    return (this.#owed.get(socket)?.length ?? 0) > 0
  }

  /** Before its first request. */
  #known(socket: Duplex): ServerResponse[] {
    const owed: ServerResponse[] = []
    if (socket.closed) return owed
    this.#owed.set(socket, owed)
    socket.once('close', () => this.#owed.delete(socket))
    return owed
  }
}
