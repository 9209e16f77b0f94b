/** One connection to an app, as Node's agents see it: a request has it, it is free, or it carries another protocol. */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { lowerOf } from '../base/remembered.ts'

export interface LinesOptions {
  /** Without a byte, before the head of an answer: the request gets `timeout`. */
  readonly silentMs: number
  /** How long a free one is kept. Default: none is. */
  readonly freeMs?: number
}

/** The owner of all connections to one app. */
export interface LineKeeper {
  readonly options: LinesOptions
  /** The request of this one is over, which may be kept for so long. */
  freed(line: Line, lifeMs: number): void
  /** This one is closed, or left HTTP. */
  left(line: Line): void
}

/** An app closes a connection at the time that it tells: to begin a request then would be too late. */
const hintMarginMs = 1000

export class Line {
  readonly socket: Socket
  freeUntilMs = 0
  readonly #keeper: LineKeeper
  #request: ClientRequest | undefined

  constructor(socket: Socket, keeper: LineKeeper) {
    this.socket = socket
    this.#keeper = keeper
    socket.on('data', this.#onData)
    socket.on('error', onError)
    socket.on('end', this.#onEnd)
    socket.on('timeout', this.#onTimeout)
    socket.on('close', this.#onClose)
    // By Node: nothing of its request is left, or it carries another protocol from now on.
    socket.on('free', this.#onFree)
    socket.on('agentRemove', this.#onLeave)
  }

  carry(request: ClientRequest): void {
    this.#request = request
    const { silentMs } = this.#keeper.options
    if (this.socket.timeout !== silentMs) this.socket.setTimeout(silentMs)
    request.onSocket(this.socket)
  }

  /** Nobody else reads: no request has asked for these bytes, and the next one would take them for its answer. */
  readonly #onData = () => {
    if (this.socket.listenerCount('data') === 1) this.socket.destroy()
  }

  /** It may stay writable, and a request that gets it would wait for an answer that cannot come. */
  readonly #onEnd = () => {
    if (!this.#request) this.socket.destroy()
  }

  readonly #onTimeout = () => {
    if (this.#request) this.#request.emit('timeout')
    else this.socket.destroy()
  }

  readonly #onFree = () => {
    const { socket } = this
    const request = this.#request
    // Bytes that wait for a reader are no answer to the next request either.
    const isClean = socket.writable && !socket.readableEnded && socket.readableLength === 0
    const lifeMs = request?.shouldKeepAlive && isClean ? this.#lifeMs(request) : 0
    this.#request = undefined
    // As Node's agent does it. Otherwise a free connection keeps its last request, and with it the whole exchange.
    ;(socket as unknown as { _httpMessage: unknown })._httpMessage = null
    // Bytes and ends that come must be seen.
    if (socket.isPaused()) socket.resume()
    if (lifeMs > 0) this.#keeper.freed(this, lifeMs)
    else socket.destroy()
  }

  #lifeMs(request: ClientRequest): number {
    const { freeMs = 0 } = this.#keeper.options
    const { res: answer } = request as unknown as { readonly res: IncomingMessage | null }
    return answer ? Math.min(freeMs, hintMsOf(answer.rawHeaders)) : freeMs
  }

  readonly #onClose = () => this.#keeper.left(this)

  readonly #onLeave = () => {
    const { socket } = this
    socket.off('data', this.#onData)
    socket.off('error', onError)
    socket.off('end', this.#onEnd)
    socket.off('timeout', this.#onTimeout)
    socket.off('close', this.#onClose)
    socket.off('free', this.#onFree)
    socket.off('agentRemove', this.#onLeave)
    this.#keeper.left(this)
  }
}

/** The owner of the connection hears of the error, and its close follows. */
const onError = () => {}

/** How long an app says that it keeps a connection. */
function hintMsOf(rawHeaders: readonly string[]): number {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (lowerOf(rawHeaders[i]!) !== 'keep-alive') continue
    const seconds = /^timeout=(\d+)/.exec(rawHeaders[i + 1]!)?.[1]
    if (seconds !== undefined) return Number(seconds) * 1000 - hintMarginMs
  }
  return Number.POSITIVE_INFINITY
}
