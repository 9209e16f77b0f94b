/** Connections to IP addresses, without names and TLS. A server's output on one connection is limited. */
import { connect, isIP, type Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { AnswerError } from './answer.ts'

/** Opens connections for undici. Its connections stay open until `close`, also while they are being opened. */
export class LiteralConnector {
  readonly #maxBytes: number
  readonly #sockets = new Set<Socket>()

  /** `maxBytes`: of all that a server may send on one connection. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Fails for a name, and for TLS. */
  readonly connect: buildConnector.connector = ({ hostname, protocol, port }, callback) => {
    if (isIP(hostname) === 0) return callback(new AnswerError('the host is a name, not an IP address'), null)
    if (protocol !== 'http:') return callback(new AnswerError('the address is not one of plain HTTP'), null)
    const socket = connect({ host: hostname, port: Number(port || 80), noDelay: true })
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // After the connection is open, undici listens for its errors itself.
    const fail = (error: Error) => callback(error, null)
    socket.once('error', fail)
    socket.once('connect', () => {
      socket.off('error', fail)
      callback(null, socket)
    })
    socket.on('readable', () => this.#limit(socket))
  }

  /** Destroys every connection. */
  close(): void {
    for (const socket of this.#sockets) socket.destroy(new AnswerError('the connection was closed by this side'))
  }

  /** undici counts heads and bodies; interim answers and extensions of chunks are neither, and need not end. */
  #limit(socket: Socket): void {
    if (socket.bytesRead <= this.#maxBytes) return
    socket.destroy(new AnswerError(`the server sends more than ${this.#maxBytes} bytes on one connection`))
  }
}
