/** One request as the gateway judges and answers it, whether it asks for an answer or for another protocol. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Source } from '../../base/source.ts'
import { hasBody } from '../framing.ts'
import { rawAnswer } from './refusals.ts'

/** An answer of the gateway itself. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: string
}

export interface Visit {
  readonly kind: 'request' | 'websocket'
  readonly incoming: IncomingMessage
  readonly id: string
  readonly from: Source
  /** Answers once; further answers are dropped. */
  answer(answer: Answer): void
  /** Ends the connection. */
  cut(): void
}

/** How long the rest of a body is read after its refusal, so that the client gets to read that. */
const lingerMs = 10_000
/** The same without a body. */
const refusedLingerMs = 1000

export const visitOf = (incoming: IncomingMessage, outgoing: ServerResponse, from: Source): Visit =>
  new RequestVisit(incoming, outgoing, from)

export function upgradeVisitOf(incoming: IncomingMessage, socket: Socket, from: Source): Visit {
  // Node has left the socket, with its errors.
  socket.on('error', () => {})
  return new UpgradeVisit(incoming, socket, from)
}

/** The common part of both visits. Few requests need their id: it is made when it is asked for. */
abstract class AnyVisit {
  readonly incoming: IncomingMessage
  readonly from: Source
  #id: string | undefined

  constructor(incoming: IncomingMessage, from: Source) {
    this.incoming = incoming
    this.from = from
  }

  get id(): string {
    this.#id ??= randomUUID()
    return this.#id
  }
}

class RequestVisit extends AnyVisit implements Visit {
  readonly kind = 'request'
  readonly #outgoing: ServerResponse

  constructor(incoming: IncomingMessage, outgoing: ServerResponse, from: Source) {
    super(incoming, from)
    this.#outgoing = outgoing
  }

  answer({ status, headers, body }: Answer): void {
    const outgoing = this.#outgoing
    if (outgoing.headersSent || outgoing.destroyed) return
    outgoing.writeHead(status, {
      ...headers,
      'Content-Length': String(Buffer.byteLength(body)),
    } as OutgoingHttpHeaders)
    outgoing.end(body)
    forgetBody(this.incoming)
  }

  cut(): void {
    this.incoming.socket.destroy()
  }
}

class UpgradeVisit extends AnyVisit implements Visit {
  readonly kind = 'websocket'
  readonly #socket: Socket

  constructor(incoming: IncomingMessage, socket: Socket, from: Source) {
    super(incoming, from)
    this.#socket = socket
  }

  answer({ status, headers, body }: Answer): void {
    const socket = this.#socket
    if (socket.writableEnded || socket.destroyed) return
    // Further bytes are discarded: closing a connection with unread bytes would lose the answer.
    socket.resume()
    const linger = setTimeout(() => socket.destroy(), refusedLingerMs)
    socket.once('close', () => clearTimeout(linger))
    socket.end(rawAnswer(status, headers, body), 'latin1')
  }

  cut(): void {
    this.#socket.destroy()
  }
}

function forgetBody(incoming: IncomingMessage): void {
  if (incoming.complete || !hasBody(incoming)) return
  incoming.resume()
  const linger = setTimeout(() => incoming.destroy(), lingerMs)
  incoming.once('close', () => clearTimeout(linger))
}

/** Plain words, for programs. No page reads their address out of its history: it may have a code (`hosts/entering.ts`). */
export function plain(status: number, words: string, headers: Answer['headers'] = {}): Answer {
  const type = {
    ...{ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' },
  }
  return { status, headers: { ...type, ...headers }, body: `${words}\n` }
}

/** Another address, asked by GET. */
export function redirect(location: string, headers: Answer['headers'] = {}): Answer {
  return { status: 303, headers: { Location: location, 'Cache-Control': 'no-store', ...headers }, body: '' }
}

/** How long to wait, in whole seconds. */
export const retryAfter = (ms: number) => ({ 'Retry-After': String(Math.ceil(ms / 1000)) })
