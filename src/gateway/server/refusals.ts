/** Answers to input that is no request. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Refusal {
  readonly status: number
  readonly words: string
  readonly headers?: Readonly<Record<string, string>>
}

export const tooMany: Refusal = {
  ...{ status: 503, words: 'there are too many connections', headers: { 'Retry-After': '1' } },
}

const byCode: Readonly<Record<string, Refusal>> = {
  CONNECT: { status: 405, words: 'the method is not served', headers: { Allow: '' } },
  HPE_HEADER_OVERFLOW: { status: 431, words: 'the headers are too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, words: 'the body is too large' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, words: 'the request took too long to arrive' },
}

/** @param code of the parser's error */
export const refusalOf = (code = ''): Refusal => byCode[code] ?? { status: 400, words: 'not a well-formed request' }

/** How long a refused client may take to notice. */
const lingerMs = 1000

const ofRefusals = { 'Content-Type': 'text/plain; charset=utf-8', 'Referrer-Policy': 'no-referrer' }
/**
 * A script can bring such an answer about, by more cookies than a head may have. Its address may have a code (`hosts/entering.ts`),
 * and nobody has read the address. So the document is of no host: no page and no service worker learns of it.
 */
const ofNoHost = { 'Content-Security-Policy': 'sandbox', 'Cross-Origin-Opener-Policy': 'same-origin' }

type Bare = Duplex & { setTimeout?(ms: number, then: () => void): void }

/**
 * Answers on a bare connection, and closes it.
 * @param areSplit whether each app has a host of its own
 */
export function hangUp(socket: Bare, refusal: Refusal, areSplit: boolean): void {
  const { status, words, headers = {} } = refusal
  socket.on('error', () => socket.destroy())
  // Further input is discarded: closing a connection with unread bytes would lose the answer too.
  socket.resume()
  socket.setTimeout?.(lingerMs, () => socket.destroy())
  socket.end(rawAnswer(status, { ...ofRefusals, ...(areSplit && ofNoHost), ...headers }, `${words}\n`), 'latin1')
}

/** An answer as its bytes in latin1, after which the connection is closed. */
export function rawAnswer(status: number, headers: Readonly<Record<string, string | readonly string[]>>, body: string) {
  const text = Buffer.from(body).toString('latin1')
  const all = { ...headers, Connection: 'close', 'Content-Length': String(text.length) }
  const lines = Object.entries(all).flatMap(([name, value]) => [value].flat().map(each => `${name}: ${each}\r\n`))
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`
}
