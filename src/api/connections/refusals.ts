/** Answers to input that never becomes a request of the app, in the common form of errors. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError, unavailable } from '../../base/errors.ts'
import { errorBodyOf } from '../request/errors.ts'

export const notHttp = new ApiError(400, { msg: 'not a well-formed request', type: 'malformed' })
export const busy = unavailable('this replica has too many connections')
export const tooManyUnanswered = new ApiError(
  429,
  { msg: 'too many requests at once on one connection', type: 'too_many' },
  { 'Retry-After': '1' },
)
export const noTunnel = new ApiError(405, { msg: 'method not allowed', type: 'method_not_allowed' }, { Allow: '' })
const noSuchExpectation = new ApiError(417, {
  msg: 'only 100-continue can be expected',
  type: 'malformed',
  loc: ['header', 'expect'],
})

const byCode: Readonly<Record<string, ApiError>> = {
  HPE_HEADER_OVERFLOW: new ApiError(431, { msg: 'the headers are too large', type: 'malformed' }),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new ApiError(413, { msg: 'the body is too large', type: 'too_large', loc: ['body'] }),
  ERR_HTTP_REQUEST_TIMEOUT: new ApiError(408, { msg: 'the request took too long to arrive', type: 'malformed' }),
}

/** How long a refused client may take to notice. */
const lingerMs = 1000

/** Answers on a bare connection, and closes it. */
export function hangUp(socket: Bare, error: ApiError): void {
  const { headers, body } = lastAnswer(error)
  closeWith(socket, error.status, headers, body)
}

type Bare = Duplex & { setTimeout?(ms: number, then: () => void): void }

/** Writes an answer on a bare connection, and closes it. */
export function closeWith(socket: Bare, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.on('error', () => socket.destroy())
  // Further input is discarded: closing a connection with unread bytes would lose the answer too.
  socket.resume()
  socket.setTimeout?.(lingerMs, () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}

/** Answers a request in its order, and closes the connection. */
export function refuse(outgoing: ServerResponse, error: ApiError): void {
  const { headers, body } = lastAnswer(error)
  outgoing.writeHead(error.status, headers).end(body)
}

function lastAnswer(error: ApiError): { headers: Record<string, string>; body: string } {
  const body = JSON.stringify(errorBodyOf(error))
  const length = String(Buffer.byteLength(body))
  const type = 'application/json'
  return { headers: { ...error.headers, Connection: 'close', 'Content-Type': type, 'Content-Length': length }, body }
}

/** The answer to a parser's error. */
export function clientErrorAnswer(code = ''): ApiError {
  return byCode[code] ?? notHttp
}

/** Listener for an `Expect` other than `100-continue`. */
export function onExpectation(_: IncomingMessage, outgoing: ServerResponse): void {
  refuse(outgoing, noSuchExpectation)
}
