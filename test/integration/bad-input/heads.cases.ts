/** Heads that two servers would read as different requests, and heads that are too large. */
import { forgedHost } from '../../kit/api/forged-hosts.ts'
import { type BadInput, type Bytes, create, createHead, head, join, prefix, type Sender } from './wire.ts'

const json = 'Content-Type: application/json'
const body = '{"options": {}}'
const chunk = `${body.length.toString(16)}\r\n${body}\r\n`

/** A create with these headers instead of its length. */
const framed = (what: string, rest: Bytes, ...headers: Bytes[]): BadInput => ({
  what,
  send: sender => join(createHead(sender, json, ...headers), rest),
  status: 400,
})

export const framing: BadInput[] = [
  framed('two lengths that differ', body, `Content-Length: ${body.length}`, 'Content-Length: 3'),
  framed('two lengths that agree', body, `Content-Length: ${body.length}`, `Content-Length: ${body.length}`),
  framed('two lengths in one', body, `Content-Length: ${body.length}, ${body.length}`),
  framed('a length and chunks', `${chunk}0\r\n\r\n`, `Content-Length: ${body.length}`, 'Transfer-Encoding: chunked'),
  framed('chunks and a length', `${chunk}0\r\n\r\n`, 'Transfer-Encoding: chunked', `Content-Length: ${body.length}`),
  framed('a length with a sign', body, `Content-Length: +${body.length}`),
  framed('a length below nothing', body, 'Content-Length: -1'),
  framed('a length in hexadecimal', body, 'Content-Length: 0xf'),
  framed('an empty length', body, 'Content-Length:'),
  framed('another coding', body, 'Transfer-Encoding: gzip'),
  framed('chunks, then another coding', `${chunk}0\r\n\r\n`, 'Transfer-Encoding: chunked, identity'),
  framed('chunks twice', `${chunk}0\r\n\r\n`, 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'),
  framed('a space before the colon', `${chunk}0\r\n\r\n`, 'Transfer-Encoding : chunked'),
  framed('a chunk whose size is no number', 'size\r\n', 'Transfer-Encoding: chunked'),
  framed('a chunk below nothing', `-f\r\n${body}\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked'),
  framed('a chunk beyond all numbers', `${'f'.repeat(20)}\r\n${body}`, 'Transfer-Encoding: chunked'),
  framed('a chunk longer than it says', `3\r\n${body}\r\n0\r\n\r\n`, 'Transfer-Encoding: chunked'),
  framed('chunks parted by bare newlines', `f\n${body}\n0\n\n`, 'Transfer-Encoding: chunked'),
  {
    what: 'an extension of a chunk without end',
    send: sender => join(createHead(sender, json, 'Transfer-Encoding: chunked'), `f;${'x'.repeat(100_000)}\r\n`),
    status: 413,
  },
  {
    what: 'chunks that break off',
    send: sender => join(createHead(sender, json, 'Transfer-Encoding: chunked'), '3\r\n{"o'),
    ends: true,
    status: 400,
  },
]

const plain = (what: string, status: number, ...headers: Bytes[]): BadInput => ({
  what,
  send: ({ token }) => head(`GET ${prefix}/user-status`, token, ...headers),
  status,
})
const raw = (what: string, status: number, text: (sender: Sender) => Bytes): BadInput => ({ what, send: text, status })
const whole = (token: string, host: Bytes) =>
  join(`GET ${prefix}/user-status HTTP/1.1\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\n`, host, '\r\n')

/** A path in a Host, as long as the name that a URL makes of it. */
const forged = (what: string, line: string, path: string, separator?: '/'): BadInput => ({
  what,
  send: ({ adminToken }) => {
    const { host } = forgedHost(path, undefined, separator)
    return join(`${line} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`)
  },
  status: 400,
})

export const headers: BadInput[] = [
  plain('a header without a colon', 400, 'Nothing'),
  plain('a header without a name', 400, ': x'),
  plain('a header with a space in its name', 400, 'X Y: z'),
  plain('a header with a control character in its name', 400, 'X\u0001: z'),
  plain('a header that goes on in the next line', 400, 'X-Long: a\r\n b'),
  plain('NUL in a header', 400, 'X-Nul: a\0b'),
  plain('a carriage return in a header', 400, 'X-Return: a\rb'),
  plain('a header without end', 431, `X-Long: ${'x'.repeat(20_000)}`),
  plain('too many headers', 431, ...Array.from({ length: 120 }, (_, i) => `X-${i}: x`)),
  plain('a second host', 400, 'Host: other'),
  raw('no host', 400, ({ token }) => whole(token, '')),
  raw('a host with a space', 400, ({ token }) => whole(token, 'Host: a b\r\n')),
  raw('a host with a path', 400, ({ token }) => whole(token, 'Host: a/../b\r\n')),
  raw('a host with a user', 400, ({ token }) => whole(token, 'Host: admin@a\r\n')),
  raw('an empty host', 400, ({ token }) => whole(token, 'Host:\r\n')),
  raw('a host with an encoded letter', 400, ({ token }) => whole(token, 'Host: %61\r\n')),
  raw('a host that is not ASCII', 400, ({ token }) => whole(token, 'Host: \u00fc\r\n')),
  raw('two hosts in one', 400, ({ token }) => whole(token, 'Host: a, b\r\n')),
  raw('a host with a port that is none', 400, ({ token }) => whole(token, 'Host: a:http\r\n')),
  forged('the list of labs by a host', `GET ${prefix}/user-status`, `${prefix}/labs`),
  forged('the list of labs by a host with slashes', `GET ${prefix}/user-status`, `${prefix}/labs`, '/'),
  forged('a deletion by a host', `DELETE ${prefix}/user-status`, `${prefix}/labs/nobody`),
  forged('metrics by a host', `GET ${prefix}/openapi.json`, '/metrics'),
  forged('a deletion by a host, behind a proxy', `DELETE http://skylab${prefix}/user-status`, `${prefix}/labs/nobody`),
  plain('a second content type', 400, json, json),
  plain('an expectation that is none', 417, 'Expect: the-unexpected'),
  plain('a connection that would become another', 404, 'Upgrade: websocket', 'Sec-WebSocket-Key: x'),
  plain('a request id that is a line of a log', 404, 'X-Request-ID: a" level="fatal'),
  raw('no line of a request', 400, () => 'HELLO\r\n\r\n'),
  raw('a handshake of TLS', 400, () => Buffer.from('16030100c8010000c40303', 'hex')),
  raw('HTTP/0.9', 400, () => 'GET /healthz\r\n\r\n'),
  raw('HTTP/2', 400, () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
  raw('a version that does not exist', 400, () => 'GET /healthz HTTP/7.3\r\nHost: x\r\n\r\n'),
  raw('bare newlines', 400, () => 'GET /healthz HTTP/1.1\nHost: x\nConnection: close\n\n'),
  {
    what: 'more requests at once than a connection may have',
    send: ({ token }) =>
      join(
        ...Array.from({ length: 9 }, () =>
          head(`GET ${prefix}/user-status`, token).toString().replace('Connection: close\r\n', ''),
        ),
      ),
    status: [404, 404, 404, 404, 404, 404, 404, 404, 429],
  },
  {
    // The server reads it before it answers the first request, and trusts neither.
    what: 'something after a request',
    send: ({ token }) =>
      join(
        head(`GET ${prefix}/user-status`, token).toString().replace('Connection: close\r\n', ''),
        'SMUGGLED\r\n\r\n',
      ),
    status: 400,
  },
]

const keyed = (what: string, status: number, ...values: string[]): BadInput => ({
  what,
  send: create(body, json, ...values.map(value => `Idempotency-Key: ${value}`)),
  status,
})
const after = (what: string, status: number, ...values: string[]): BadInput => ({
  what,
  send: ({ user, token }) =>
    head(`GET ${prefix}/labs/${user}/events`, token, ...values.map(value => `Last-Event-ID: ${value}`)),
  status,
})

export const ids: BadInput[] = [
  keyed('an empty idempotency key', 422, ''),
  keyed('an idempotency key without end', 422, 'k'.repeat(256)),
  keyed('two idempotency keys', 400, 'one', 'two'),
  after('a word for the id of an event', 400, 'yesterday'),
  after('an id of an event below nothing', 400, '-1-1'),
  after('an id of an event with three parts', 400, '1-2-3'),
  after('an id of an event beyond all numbers', 400, `${'9'.repeat(400)}-1`),
  after('an id of an event for a database', 400, "1-1' OR '1'='1"),
  after('two ids of events', 400, '1-1', '1-2'),
  after('an event of nobody', 204, '1-1'),
]
