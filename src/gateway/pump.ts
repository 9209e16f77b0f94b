/**
 * Carries one request of a client to an app, and the answer back: bodies as streams, and changes of protocol. It decides
 * nothing: who may go where, and which headers go along, was decided before. `docs/gateway-pump.md` says why it looks so.
 */
import { type ClientRequest, type IncomingMessage, request, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Clock, systemClock } from '../base/clock.ts'
import { Connections } from './connections.ts'
import { Exchange, type ExchangeParts } from './exchange.ts'
import { hasBody, requestHeaders, upgradeHeaders } from './framing.ts'
import type { Destination, Ending, PumpLimits } from './terms.ts'
import { join } from './tunnel.ts'

/** A request that failed on a kept connection may be sent again: it changes nothing. */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS'])

export class Pump {
  readonly #limits: PumpLimits
  readonly #kept: Connections
  /** An app may close a kept connection at any time. A request that must not be sent twice gets a connection of its own. */
  readonly #single: Connections
  /** For another protocol. After an answer that is not 101 it is not used again. */
  readonly #upgraded: Connections

  constructor(limits: PumpLimits, clock: Pick<Clock, 'monotonicMs' | 'after'> = systemClock) {
    this.#limits = limits
    const { connections: most, freeMs, headMs: silentMs } = limits
    this.#kept = new Connections({ most, silentMs, freeMs, clock })
    this.#single = new Connections({ most, silentMs, clock })
    this.#upgraded = new Connections({ most: Number.POSITIVE_INFINITY, silentMs, allowHalfOpen: true, clock })
  }

  /** Carries a request. Serves `request` and `checkContinue` of a server. Rejects for a head that Node refuses to send. */
  request(incoming: IncomingMessage, outgoing: ServerResponse, to: Destination): Promise<Ending> {
    return this.#request(incoming, outgoing, to, true)
  }

  #request(incoming: IncomingMessage, outgoing: ServerResponse, to: Destination, again: boolean): Promise<Ending> {
    // Its client left while it was judged: no event of that comes any more.
    if (outgoing.closed || outgoing.req.socket.destroyed) return Promise.resolve('gone')
    return new Promise(resolve => {
      const headers = requestHeaders(to.headers, incoming)
      if (headers === undefined) {
        resolve('unframed')
        return
      }
      const mayRepeat = again && repeatable.has(incoming.method!) && !hasBody(incoming)
      const by = mayRepeat ? this.#kept : this.#single
      if (!mayRepeat) headers.push('Connection', 'close')
      const upstream = open(incoming, to, headers, by)
      const onEnd: ExchangeParts['onEnd'] = (ending, { wasStale }) => {
        const repeats = ending === 'refused' && wasStale && mayRepeat
        resolve(repeats ? this.#request(incoming, outgoing, to, false) : ending)
      }
      new Exchange({ incoming, outgoing, upstream, to, limits: this.#limits, onEnd }).carry()
    })
  }

  /**
   * Carries a request for another protocol. Serves `upgrade` of a server. Where the caller must answer, it writes to the
   * socket, which is still open.
   * @param head bytes after the client's head. The app gets none of them before it has changed the protocol.
   */
  async upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer, to: Destination): Promise<Ending> {
    if (socket.destroyed) return 'gone'
    // The bytes of a body would be those of the other protocol.
    if (hasBody(incoming)) return 'unframed'
    const headers = upgradeHeaders(to.headers, incoming.headers.upgrade!, incoming.method)
    const outgoing = new ServerResponse(incoming)
    outgoing.shouldKeepAlive = false
    // It throws where an earlier answer still has the socket. A request to the app would be left without a listener then.
    outgoing.assignSocket(socket)
    outgoing.once('finish', () => socket.end())
    const upstream = open(incoming, to, headers, this.#upgraded)
    // Node has left the socket, with its errors.
    socket.on('error', onError)
    const limits = this.#limits
    const onSwitch: ExchangeParts['onSwitch'] = (answer, app, early) => {
      outgoing.detachSocket(socket)
      return join({ client: { socket, head }, app: { socket: app, head: early }, answer, to, limits })
    }
    return new Promise(onEnd => new Exchange({ incoming, outgoing, upstream, to, limits, onSwitch, onEnd }).carry())
  }

  /** Closes the connections to apps, but those of other protocols. */
  close(): void {
    this.#kept.close()
    this.#single.close()
  }
}

/** Made here, as a listener keeps all that is known where it is made. */
const onError = () => {}

function open(
  { method }: IncomingMessage,
  { host, port, path, connect }: Destination,
  headers: string[],
  by: Connections,
): ClientRequest {
  const agent = by.to(host, port)
  // Node copies each option twice, so there are few.
  const options = { path, method: method!, headers, setHost: false, agent, ...(connect && { connect }) }
  return request(options)
}
