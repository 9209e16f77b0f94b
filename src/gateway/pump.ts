/**
 * Carries one request of a client to an app, and the answer back: bodies as streams, and changes of protocol. It decides
 * nothing: who may go where, and which headers go along, was decided before. `docs/gateway-pump.md` says why it looks so.
 */
import { Agent, type ClientRequest, type IncomingMessage, request, ServerResponse } from 'node:http'
import { createConnection, type NetConnectOpts, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Exchange, type ExchangeParts } from './exchange.ts'
import { hasBody, requestHeaders, upgradeHeaders } from './framing.ts'
import type { Destination, Ending, PumpLimits } from './terms.ts'
import { join } from './tunnel.ts'

/** A request that failed on a kept connection may be sent again: it changes nothing. */
const repeatable = new Set(['GET', 'HEAD', 'OPTIONS'])

export class Pump {
  readonly #limits: PumpLimits
  readonly #kept: Agent
  /** An app may close a kept connection at any time. What must not be sent twice gets a connection of its own. */
  readonly #single: Agent

  constructor(limits: PumpLimits) {
    this.#limits = limits
    const { connections: maxSockets, freeMs } = limits
    this.#kept = new Dialer({
      keepAlive: true,
      maxSockets,
      maxFreeSockets: maxSockets,
      timeout: freeMs,
      scheduling: 'lifo',
    })
    this.#single = new Dialer({ keepAlive: false, maxSockets })
  }

  /** Carries a request. Serves `request` and `checkContinue` of a server. Rejects for a head that Node refuses to send. */
  request(incoming: IncomingMessage, outgoing: ServerResponse, to: Destination): Promise<Ending> {
    return this.#request(incoming, outgoing, to, true)
  }

  async #request(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    to: Destination,
    again: boolean,
  ): Promise<Ending> {
    const headers = requestHeaders(to.headers, incoming)
    if (headers === undefined) return 'unframed'
    const mayRepeat = repeatable.has(incoming.method!) && !hasBody(incoming)
    const agent = mayRepeat && again ? this.#kept : this.#single
    if (agent === this.#single) headers.push('Connection', 'close')
    const upstream = this.#open(incoming, to, headers, agent)
    const exchange = new Exchange({ incoming, outgoing, upstream, to, limits: this.#limits })
    const ending = await exchange.carry()
    const repeats = ending === 'refused' && exchange.wasStale && agent === this.#kept
    return repeats ? this.#request(incoming, outgoing, to, false) : ending
  }

  /**
   * Carries a request for another protocol. Serves `upgrade` of a server. Where the caller must answer, it writes to the
   * socket, which is still open.
   * @param head bytes after the client's head. The app gets none of them before it has changed the protocol.
   */
  async upgrade(incoming: IncomingMessage, socket: Socket, head: Buffer, to: Destination): Promise<Ending> {
    // The bytes of a body would be those of the other protocol.
    if (hasBody(incoming)) return 'unframed'
    const headers = upgradeHeaders(to.headers, incoming.headers.upgrade!, incoming.method)
    const outgoing = new ServerResponse(incoming)
    outgoing.shouldKeepAlive = false
    // It throws where an earlier answer still has the socket. A request to the app would be left without a listener then.
    outgoing.assignSocket(socket)
    outgoing.once('finish', () => socket.end())
    // A connection of its own: after an answer that is not 101 it is not used again.
    const upstream = this.#open(incoming, to, headers, false)
    // Node has left the socket, with its errors.
    socket.on('error', () => {})
    const limits = this.#limits
    const onSwitch: ExchangeParts['onSwitch'] = (answer, app, early) => {
      outgoing.detachSocket(socket)
      return join({ client: { socket, head }, app: { socket: app, head: early }, answer, to, limits })
    }
    return new Exchange({ incoming, outgoing, upstream, to, limits, onSwitch }).carry()
  }

  /** Closes the connections to apps, but those of other protocols. */
  close(): void {
    this.#kept.destroy()
    this.#single.destroy()
  }

  #open({ method }: IncomingMessage, to: Destination, headers: string[], agent: Agent | false): ClientRequest {
    const { host, port, path } = to
    const timeout = this.#limits.headMs
    // Node passes it to the socket. In another protocol one way may end before the other.
    const ofSocket = { allowHalfOpen: agent === false }
    const ofRequest = { host, port, path, method: method!, headers, setHost: false }
    // Without an agent Node calls `createConnection`; `false` would be an agent of its own.
    const dialed = to.connect && {
      dial: () => to.connect!(),
      ...(agent === false && { agent: undefined, createConnection: open }),
    }
    const upstream = request({ ...ofRequest, agent, timeout, ...ofSocket, ...dialed })
    // Otherwise a request that waits for a connection gets this one.
    if (agent === this.#single) upstream.shouldKeepAlive = false
    return upstream
  }
}

type Opened = (error: Error | null, socket: Duplex) => void

/** Connects as the destination says: it is among the options of a request. */
class Dialer extends Agent {
  override createConnection(options: NetConnectOpts, opened: Opened): Duplex | undefined {
    return 'dial' in options ? open(options, opened) : createConnection(options)
  }
}

function open(options: object, opened: Opened): undefined {
  const { dial, timeout } = options as { dial(): Promise<Socket>; timeout: number }
  dial().then(
    socket => opened(null, socket.setTimeout(timeout)),
    error => opened(error as Error, undefined as never),
  )
}
