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

export function visitOf(incoming: IncomingMessage, outgoing: ServerResponse, from: Source): Visit {
  return {
    ...{ kind: 'request', incoming, id: randomUUID(), from },
    answer: ({ status, headers, body }) => {
      if (outgoing.headersSent || outgoing.destroyed) return
      outgoing.writeHead(status, {
        ...headers,
        'Content-Length': String(Buffer.byteLength(body)),
      } as OutgoingHttpHeaders)
      outgoing.end(body)
      forgetBody(incoming)
    },
    cut: () => incoming.socket.destroy(),
  }
}

export function upgradeVisitOf(incoming: IncomingMessage, socket: Socket, from: Source): Visit {
  // Node has left the socket, with its errors.
  socket.on('error', () => {})
  return {
    ...{ kind: 'websocket', incoming, id: randomUUID(), from },
    answer: ({ status, headers, body }) => {
      if (socket.writableEnded || socket.destroyed) return
      // What comes still is discarded: closing a connection with unread bytes would lose the answer.
      socket.resume()
      const linger = setTimeout(() => socket.destroy(), refusedLingerMs)
      socket.once('close', () => clearTimeout(linger))
      socket.end(rawAnswer(status, headers, body), 'latin1')
    },
    cut: () => socket.destroy(),
  }
}

function forgetBody(incoming: IncomingMessage): void {
  if (incoming.complete || !hasBody(incoming)) return
  incoming.resume()
  const linger = setTimeout(() => incoming.destroy(), lingerMs)
  incoming.once('close', () => clearTimeout(linger))
}

/** Plain words, for programs. */
export function plain(status: number, words: string, headers: Answer['headers'] = {}): Answer {
  const type = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' }
  return { status, headers: { ...type, ...headers }, body: `${words}\n` }
}

/** Another address, asked by GET. */
export function redirect(location: string, headers: Answer['headers'] = {}): Answer {
  return { status: 303, headers: { Location: location, 'Cache-Control': 'no-store', ...headers }, body: '' }
}
