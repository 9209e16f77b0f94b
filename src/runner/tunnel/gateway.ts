/**
 * The gateway of one run: a TLS server with a certificate of its own. A client that proves the run's key, for this very connection,
 * gets a stream to a shell or to a port of the container. Anybody in the network can connect, so input before the proof is bounded.
 */

import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Gateway as Told } from '../../dispatch/protocol.ts'
import {
  answerProof,
  exporterBytes,
  exporterLabel,
  gatewayPorts,
  isSameProof,
  mostProofs,
  noContext,
  parseTarget,
  pinOf,
  proofHeader,
  requestProof,
  type TunnelTarget,
  targetHeader,
  tunnelProtocol,
} from '../../dispatch/tunnel.ts'
import { makeCertificate, type OwnCertificate } from './certificate.ts'
import { splice } from './splice.ts'

/** Connections that have shown nothing yet; they have so long for it. */
const mostStrangers = 64
const strangerMs = 10_000
const mostHeadBytes = 8 * 1024
/** Connections that have. */
const mostOpen = 512
const mostTries = 50
const keepAliveMs = 60_000

export interface GatewayParts {
  readonly key: string
  /** For the certificate's subject. */
  readonly name: string
  /** Connects to a port of the container. Rejects with words for people. */
  readonly reach: (port: number) => Promise<Socket>
  /** The SSH server; it is loaded at its first use. */
  readonly shell: () => Promise<(stream: TLSSocket) => void>
}

export class Gateway {
  readonly #parts: GatewayParts
  readonly #certificate: OwnCertificate
  readonly #server: Server
  readonly #strangers = new Set<Socket>()
  readonly #open = new Set<Duplex>()

  constructor(parts: GatewayParts) {
    this.#parts = parts
    this.#certificate = makeCertificate(parts.name)
    const { key, cert } = this.#certificate
    this.#server = createServer({
      ...{ key, cert, minVersion: 'TLSv1.3', handshakeTimeout: strangerMs, allowHalfOpen: true },
      ...{ headersTimeout: strangerMs, requestTimeout: strangerMs, keepAliveTimeout: 1, maxHeaderSize: mostHeadBytes },
      ...{ connectionsCheckingInterval: strangerMs / 10 },
      // A replica may be gone without a word, and its places with it.
      ...{ keepAlive: true, keepAliveInitialDelay: keepAliveMs },
    } as Parameters<typeof createServer>[0])
    this.#server.on('connection', socket => this.#bound(socket as Socket))
    // Without it a client that asks for another protocol is answered as one that does not.
    this.#server.on('upgrade', (request, socket) => void this.#upgrade(request, socket as TLSSocket))
    this.#server.on('request', (_, response) => response.writeHead(426, { Connection: 'close' }).end())
    this.#server.on('tlsClientError', (_, socket) => socket.destroy())
    this.#server.on('clientError', (_: Error, socket: Duplex) => socket.destroy())
  }

  /** Listens. @throws where no port is free */
  async listen(): Promise<Told> {
    const { first, last } = gatewayPorts
    for (let tries = 1; ; tries++) {
      const port = randomInt(first, last + 1)
      try {
        this.#server.listen(port)
        await once(this.#server, 'listening')
        return { gatewayPort: port, gatewayPin: pinOf(this.#certificate.der) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || tries >= mostTries) throw error
      }
    }
  }

  /** Cuts all. */
  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    for (const stream of this.#open) stream.destroy()
  }

  /** A stranger takes no place of those that have the key, and who comes with it needs a moment: the one that waits longest goes. */
  #bound(socket: Socket): void {
    socket.on('error', () => {})
    const [oldest] = this.#strangers
    if (oldest && this.#strangers.size >= mostStrangers) {
      this.#strangers.delete(oldest)
      oldest.destroy()
    }
    this.#strangers.add(socket)
    const late = setTimeout(() => this.#strangers.has(socket) && socket.destroy(), strangerMs)
    socket.once('close', () => {
      clearTimeout(late)
      this.#strangers.delete(socket)
    })
  }

  async #upgrade(request: IncomingMessage, stream: TLSSocket): Promise<void> {
    stream.on('error', () => {})
    const proof = this.#proven(request, stream)
    if (proof === undefined) return refuse(stream, 403, 'the proof is not that of this run')
    this.#admit(stream)
    const target = parseTarget(String(request.headers[targetHeader] ?? ''))
    if (this.#open.size >= mostOpen) return refuse(stream, 503, 'there are too many connections')
    this.#open.add(stream)
    stream.once('close', () => this.#open.delete(stream))
    const answer = () => stream.write(switching(proof))
    try {
      if (target === undefined) refuse(stream, 400, 'no such target', proof)
      else await this.#join(target, stream, answer)
    } catch (error) {
      refuse(stream, 502, (error as Error).message, proof)
    }
  }

  /** From here on it is one of those that have the key. */
  #admit(stream: TLSSocket): void {
    // The stream of TLS does not show the socket below, so that is found by its two ends.
    for (const socket of this.#strangers)
      if (socket.remotePort === stream.remotePort && socket.remoteAddress === stream.remoteAddress)
        this.#strangers.delete(socket)
  }

  async #join(target: TunnelTarget, stream: TLSSocket, answer: () => void): Promise<void> {
    const { reach, shell } = this.#parts
    if (target !== 'ssh') {
      const socket = await reach(target.port)
      answer()
      return splice(stream, socket)
    }
    const serve = await shell()
    answer()
    serve(stream)
  }

  /** @returns the answer to the proof that fits */
  #proven({ headers }: IncomingMessage, stream: TLSSocket): string | undefined {
    if (headers.upgrade !== tunnelProtocol) return undefined
    const { key } = this.#parts
    const binding = stream.exportKeyingMaterial(exporterBytes, exporterLabel, noContext)
    const expected = requestProof(key, { certificate: this.#certificate.der, binding })
    const shown = String(headers[proofHeader] ?? '').split(',')
    if (shown.length > mostProofs) return undefined
    // Each is tried, whichever fits.
    return shown.map(each => isSameProof(each.trim(), expected)).includes(true) ? answerProof(key, expected) : undefined
  }
}

const switching = (proof: string): string =>
  [
    ...['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${tunnelProtocol}`],
    ...[`${proofHeader}: ${proof}`, '', ''],
  ].join('\r\n')

/** With the proof of an answer, its words are believed. */
function refuse(stream: TLSSocket, status: number, words: string, proof?: string): void {
  const text = Buffer.from(words.slice(0, 500))
  const lines = [`HTTP/1.1 ${status} Refused`, 'Connection: close', `Content-Length: ${text.length}`]
  const all = [...lines, ...(proof === undefined ? [] : [`${proofHeader}: ${proof}`]), '', '']
  stream.end(Buffer.concat([Buffer.from(all.join('\r\n')), text]), () => stream.destroy())
}
