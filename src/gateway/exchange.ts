/** One request and its answer, between the server's pair and the client request to the app. */
import type { ClientRequest, IncomingMessage, InformationEvent, OutgoingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { answerHeaders, hasBody } from './framing.ts'
import { passage, Relay } from './relay.ts'
import type { Destination, Ending, PumpLimits } from './terms.ts'

export interface ExchangeParts {
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly upstream: ClientRequest
  readonly to: Destination
  readonly limits: PumpLimits
  /** Takes over both connections when the app changes the protocol; without it no app may. */
  readonly onSwitch?: (answer: IncomingMessage, app: Socket, early: Buffer) => Promise<Ending>
  /** Called once. */
  readonly onEnd: (ending: Ending | Promise<Ending>, exchange: Exchange) => void
}

/** Informational answers that are passed on; a storm of them is not. */
const maxInformation = 16
const none = Buffer.alloc(0)

export class Exchange {
  /** Whether the app closed a kept connection before it answered a byte. */
  wasStale = false
  readonly #parts: ExchangeParts
  #queued: NodeJS.Timeout | undefined
  #body: Relay | undefined
  #answerBody: Relay | undefined
  /** The answer whose head was written. */
  #answer: IncomingMessage | undefined
  #information = 0
  #isOver = false
  /** A connection that left HTTP, and that only this exchange has by now. */
  #switching: Duplex | undefined

  constructor(parts: ExchangeParts) {
    this.#parts = parts
  }

  carry(): void {
    const { outgoing, upstream } = this.#parts
    // Each comes once, if at all, but the last three. `once` would cost an object, and a search for it.
    upstream.on('socket', this.#onSocket)
    upstream.on('response', this.#onAnswer)
    upstream.on('upgrade', this.#onUpgrade)
    outgoing.on('close', this.#onClientClose)
    upstream.on('information', this.#onInformation)
    upstream.on('timeout', this.#onTimeout)
    upstream.on('error', this.#onError)
    // Otherwise it has a connection, and is sent in this turn.
    if (!upstream.reusedSocket) this.#boundQueue()
  }

  readonly #onSocket = (socket: Socket) => {
    if (socket.connecting) socket.once('connect', () => this.#send())
    else this.#send()
  }

  /** The time of a connection begins with it. All of them may be in use, or the gate is shut. */
  #boundQueue(): void {
    this.#queued ??= setTimeout(() => this.#fail('silent'), this.#parts.limits.headMs)
  }

  /** Goes on where bytes may pass: at once, or when the gate has opened. */
  #whenOpen(next: () => void): void {
    const { gate } = this.#parts.to
    if (!gate || gate.mayPass()) next()
    else void passage(gate, () => this.#isOver).then(isOpen => isOpen && !this.#isOver && next())
  }

  /** Not before its connection is there: what was decided may be old by then. */
  #send(): void {
    const { gate } = this.#parts.to
    if (!gate || gate.mayPass()) this.#sendNow()
    else {
      this.#boundQueue()
      this.#whenOpen(() => this.#sendNow())
    }
  }

  #sendNow(): void {
    const { incoming, upstream } = this.#parts
    if (this.#isOver) return
    clearTimeout(this.#queued)
    if (hasBody(incoming)) this.#upload()
    else upstream.end()
  }

  #upload(): void {
    const { incoming, upstream, to } = this.#parts
    const onEnd = (last?: Buffer) => {
      if (this.#isOver) return
      addTrailers(upstream, to.trailers?.('request', incoming.rawTrailers) ?? incoming.rawTrailers)
      upstream.end(last)
    }
    this.#body = new Relay({ from: incoming, to: upstream, gate: to.gate, isLast: () => isWhole(incoming), onEnd })
    this.#body.start()
    // An app may answer, or say 100, before the first byte of the body.
    this.#soonSend(upstream, this.#body)
  }

  /** After the last byte has left nobody listens any more. */
  readonly #onClientClose = () => this.#fail('gone')

  readonly #onAnswer = (answer: IncomingMessage) => {
    answer.on('error', this.#onAnswerError)
    this.#whenOpen(() => this.#relay(answer))
  }

  readonly #onAnswerError = () => this.#fail(this.#answer ? 'cut' : 'refused')

  #relay(answer: IncomingMessage): void {
    const { outgoing, to } = this.#parts
    if (this.#isOver) return
    if (!this.#writeHead(answer)) {
      this.#fail('refused')
      return
    }
    this.#answer = answer
    const onEnd = (last?: Buffer) => this.#finish(answer, last)
    const relay = new Relay({ from: answer, to: outgoing, gate: to.gate, isLast: () => isWhole(answer), onEnd })
    this.#answerBody = relay
    relay.start()
    // A stream of events may have no byte for long.
    this.#soonSend(outgoing, relay)
  }

  #writeHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage): boolean {
    const { outgoing, to } = this.#parts
    const status = statusCode!
    const headers = answerHeaders(status, rawHeaders)
    // A 101 that names no protocol comes as an answer.
    if (headers === undefined || status < 200) return false
    const list = to.answer?.(status, headers) ?? headers
    // Node reads more than it writes, such as control characters in the words after the status.
    if (isWritten(() => outgoing.writeHead(status, statusMessage, list as string[]))) return true
    // It has kept them for the caller's answer.
    outgoing.statusMessage = ''
    return false
  }

  #finish({ rawTrailers }: IncomingMessage, last?: Buffer): void {
    const { outgoing, upstream, to } = this.#parts
    if (this.#isOver) return
    addTrailers(outgoing, to.trailers?.('answer', rawTrailers) ?? rawTrailers)
    outgoing.on('finish', () => this.#end('done'))
    outgoing.end(last)
    if (upstream.writableFinished) return
    // The app has no use for the rest of the upload, and its connection cannot be used again.
    this.#forgetUpload()
    upstream.destroy()
  }

  readonly #onInformation = ({ statusCode: status, rawHeaders: headers }: InformationEvent) => {
    const { incoming, outgoing, to } = this.#parts
    this.#information += 1
    const isKnown = incoming.httpVersionMinor > 0 && status !== 101 && this.#information <= maxInformation
    // Nobody misses one that would have to wait.
    const mayPass = to.gate?.mayPass() ?? true
    if (isKnown && mayPass && !this.#isOver && !outgoing.headersSent) {
      const list = answerHeaders(status, headers) ?? []
      isWritten(() => outgoing.writeInformation(status, [...(to.answer?.(status, list) ?? list)]))
    }
  }

  readonly #onUpgrade = (answer: IncomingMessage, app: Duplex, early: Buffer) => {
    this.#switching = app
    // Most requests have no such connection, so this is made here.
    const onLost = () => this.#fail('refused')
    // Node has left the socket, with its errors.
    app.on('error', onLost)
    app.on('close', onLost)
    this.#whenOpen(() => {
      if (!this.#switch(answer, app as Socket, early)) return
      // Others listen now. The connection may be open for days, and would keep all of its request.
      app.off('error', onLost)
      app.off('close', onLost)
    })
  }

  /** @returns whether the connections were taken over */
  #switch(answer: IncomingMessage, app: Socket, early: Buffer): boolean {
    const { onSwitch, incoming } = this.#parts
    const isAsked = answer.headers.upgrade?.toLowerCase() === incoming.headers.upgrade?.toLowerCase()
    const isTaken = !this.#isOver && onSwitch !== undefined && isAsked
    if (isTaken) this.#end(onSwitch(answer, app, early))
    else this.#fail('refused')
    return isTaken
  }

  /**
   * Sends the head alone where no byte of the body comes with it: both at once cost one system call. `flushHeaders` would write
   * bytes above 0x7f as UTF-8.
   */
  #soonSend(message: ClientRequest | ServerResponse, body: Relay): void {
    // The part of the body that came with the head passes before this.
    process.nextTick(this.#sendHead, message, body)
  }

  readonly #sendHead = (message: ClientRequest | ServerResponse, body: Relay) => {
    if (message.writableEnded || message.destroyed) return
    const { outgoing, upstream, limits } = this.#parts
    // The rest may take its time.
    if (message === outgoing) upstream.socket?.setTimeout(limits.idleMs)
    const isDue = () => !body.hasPassed && !message.writableEnded && !message.destroyed
    // The process may have been halted meanwhile.
    const send = () => this.#whenOpen(() => isDue() && message.write(none))
    if (isDue()) setImmediate(() => isDue() && send())
  }

  /** No byte either way for the limit. */
  readonly #onTimeout = () => {
    const { incoming, upstream, limits } = this.#parts
    const isClientsTurn =
      !incoming.complete && !upstream.writableNeedDrain && upstream.socket?.timeout !== limits.idleMs
    if (this.#answer) this.#fail('cut')
    else if (isClientsTurn) upstream.socket?.setTimeout(limits.idleMs)
    else this.#fail('silent')
  }

  readonly #onError = (error: NodeJS.ErrnoException) => {
    const { upstream } = this.#parts
    this.wasStale = upstream.reusedSocket && !this.#answer && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
    this.#fail(this.#answer ? 'cut' : 'refused')
  }

  /** Ends both sides. Where nothing was answered, the client's stays open for the caller's answer. */
  #fail(ending: Ending): void {
    if (this.#isOver) return
    const { outgoing, upstream } = this.#parts
    this.#end(ending)
    this.#body?.stop()
    this.#answerBody?.stop()
    upstream.destroy()
    this.#switching?.destroy()
    if (ending === 'cut') outgoing.destroy()
    else if (ending !== 'gone') this.#forgetUpload()
  }

  /** Reads on, so that the client gets to read its answer; its connection may serve another request then. */
  #forgetUpload(): void {
    const { incoming, limits } = this.#parts
    if (incoming.complete) return
    this.#body?.stop()
    incoming.resume()
    const linger = setTimeout(() => incoming.destroy(), limits.lingerMs)
    incoming.once('close', () => clearTimeout(linger))
  }

  #end(ending: Ending | Promise<Ending>): void {
    this.#isOver = true
    clearTimeout(this.#queued)
    this.#parts.outgoing.off('close', this.#onClientClose)
    this.#parts.onEnd(ending, this)
  }
}

function addTrailers(message: OutgoingMessage, list: readonly string[]): void {
  if (list.length === 0) return
  const pairs = Array.from({ length: list.length / 2 }, (_, i): [string, string] => [list[2 * i]!, list[2 * i + 1]!])
  isWritten(() => message.addTrailers(pairs))
}

/** @returns whether Node writes it; it throws at some of what it has read itself */
function isWritten(write: () => void): boolean {
  try {
    write()
    return true
  } catch {
    return false
  }
}

/** Whether all that is left to read of a message is being read. */
const isWhole = (message: IncomingMessage): boolean => message.complete && message.readableLength === 0
