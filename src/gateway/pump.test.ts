import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { answering, countOf, type Script, useWires } from '../../test/kit/gateway/wires.ts'

const start = useWires()

const get = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n'
const ok = 'HTTP/1.1 200 OK\r\nDate: d\r\nContent-Length: 2\r\n\r\nok'
const head200 = 'HTTP/1.1 200 OK\r\nDate: d\r\n'

/** The text that a client gets for a GET, until it has `end` or the connection ends. */
async function answerTo(script: Script, end: string, request = get) {
  const { wires, client } = await start(script)
  client.write(request)
  await client.when(({ text, isOver }) => isOver || text.includes(end))
  return { wires, client, text: client.text }
}

describe.concurrent('Pump.request', () => {
  it('sends the path and the headers as they came', async () => {
    const request =
      'GET /a%2fb;c=[d]|e?x=%zz HTTP/1.1\r\nzZ: 1\r\nHost: Ab\r\nCookie: x\r\nCookie: y\r\nX-U: \xe9\r\n\r\n'
    const { wires } = await answerTo(answering(ok), 'ok', request)
    expect(wires.apps[0]!.text).toBe(request.replace(/\r\n$/, 'Connection: keep-alive\r\n\r\n'))
  })

  it('passes the headers of an answer on in case, order and number', async () => {
    const headers = 'Z-First: 1\r\nSet-Cookie: a=1\r\nx-lOw: \xe9\r\nSet-Cookie: b=2\r\nset-cookie: c=3\r\n'
    const { text } = await answerTo(answering(`${head200}${headers}Content-Length: 2\r\n\r\nok`), 'ok')
    expect(text).toContain(`${head200}${headers}Content-Length: 2\r\n`)
  })

  it('passes the headers on that the caller decided', async () => {
    const { client } = await start(answering(ok), {
      answer: (status, headers) => ['X-Was', `${status} ${headers.length}`],
    })
    client.write(get)
    await client.has('\r\n0\r\n\r\n')
    expect(client.text).toContain('X-Was: 200 4\r\n')
    expect(client.text).not.toContain('Content-Length')
  })

  it.each([
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n', '2\r\nok\r\n0\r\n\r\n'],
    ['trailers', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n', '2\r\nok\r\n0\r\nX-T: 1\r\n\r\n'],
    ['a length', 'Content-Length: 2\r\n\r\nok', '\r\n\r\nok'],
  ])('frames an answer by %s', async (_, answer, end) => {
    const { wires, client, text } = await answerTo(answering(head200 + answer), end)
    expect(text.endsWith(end)).toBe(true)
    client.write(get)
    await client.when(wire => countOf(wire.text, end) === 2)
    expect([wires.apps.length, wires.endings]).toEqual([1, ['done', 'done']])
  })

  it('frames an answer by chunks when the app ends it by closing', async () => {
    const { text, client } = await answerTo(
      answering(`${head200}\r\nok`, app => app.socket.end()),
      '0\r\n\r\n',
    )
    expect(text.endsWith('2\r\nok\r\n0\r\n\r\n')).toBe(true)
    expect(client.isOver).toBe(false)
  })

  it.each([
    ['HEAD', '200 OK', 'Content-Length: 5\r\n'],
    ['HEAD', '200 OK', 'Transfer-Encoding: chunked\r\n'],
    ['GET', '204 No Content', ''],
    ['GET', '304 Not Modified', 'Content-Length: 99\r\n'],
  ])('waits for no body when %s is answered by %s and "%s"', async (method, status, headers) => {
    const request = get.replace('GET', method)
    const { wires, client } = await answerTo(answering(`HTTP/1.1 ${status}\r\n${headers}\r\n`), '\r\n\r\n', request)
    client.write(request)
    await client.when(wire => countOf(wire.text, '\r\n\r\n') === 2)
    expect(countOf(client.text, 'Content-Length')).toBe(headers.includes('Length') ? 2 : 0)
    expect(wires.apps.length).toBe(1)
  })

  it.each([
    ['a length', 'Content-Length: 9\r\n\r\n'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\n'],
    ['chunks on a closing connection', 'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n'],
  ])('cuts the client when the app ends in a body of %s', async (_, framing) => {
    const { wires, text } = await answerTo(
      answering(`${head200}${framing}ok`, app => app.socket.end()),
      '0\r\n\r\n',
    )
    expect(text.endsWith('0\r\n\r\n')).toBe(false)
    expect(wires.endings).toEqual(['cut'])
  })

  it.each([
    ['a length', 'Content-Length: 9\r\n\r\nok'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'],
    ['a body that ends by closing', '\r\nok'],
  ])('cuts the client when the app is reset in %s', async (_, framing) => {
    const { wires, client } = await start(answering(head200 + framing))
    client.write(get)
    await client.has('ok')
    wires.apps[0]!.socket.resetAndDestroy()
    await client.over()
    expect(client.text.endsWith('0\r\n\r\n')).toBe(false)
    expect(wires.endings).toEqual(['cut'])
  })

  it.each([
    ['nothing', ''],
    ['no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['lines without CR', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['a folded header', 'HTTP/1.1 200 OK\r\nX-A: 1\r\n folded\r\nContent-Length: 2\r\n\r\nok'],
    ['a coding', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n'],
    ['100 KB of head', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(100_000)}\r\nContent-Length: 2\r\n\r\nok`],
    ['a control character in its reason', 'HTTP/1.1 200 \x01\r\nContent-Length: 2\r\n\r\nok'],
    ['a status that is none', 'HTTP/1.1 099 A\r\nContent-Length: 2\r\n\r\nok'],
    ['a change of protocol', 'HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ])('refuses when the app answers %s', async (_, answer) => {
    const { wires, client, text } = await answerTo(
      answering(answer, app => answer || app.socket.end()),
      '\r\n\r\n',
    )
    expect(text).toContain('HTTP/1.1 502 ')
    expect(wires.endings).toEqual(['refused'])
    // Its connection is not used again, that of the client is.
    client.write(get)
    await wires.when(({ endings }) => endings.length === 2)
    expect(wires.apps.length).toBe(2)
  })

  it('refuses when nobody listens', async () => {
    const { wires, client } = await start(() => {})
    await wires.stopApp()
    client.write(get)
    await client.has('HTTP/1.1 502 ')
  })

  it('takes the second of two answers for none', async () => {
    const forged = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged'
    const { wires, client } = await answerTo(answering(ok + forged), 'ok')
    client.write(get)
    await wires.when(({ endings }) => endings.length === 2)
    expect([client.text.includes('forged'), wires.apps.length]).toEqual([false, 2])
  })

  it('passes informational answers on, but not a storm of them', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'
    const { text } = await answerTo(answering(hints.repeat(100) + ok), '\r\n\r\nok')
    expect(text.startsWith(hints)).toBe(true)
    expect(countOf(text, hints)).toBe(16)
  })

  it('passes the headers of an informational answer on that the caller decided', async () => {
    const { client } = await start(answering(`HTTP/1.1 103 Early Hints\r\nSet-Cookie: a\r\n\r\n${ok}`), {
      answer: (status, headers) => (status === 103 ? ['X-Was', headers.join()] : headers),
    })
    client.write(get)
    await client.has('\r\n\r\nok')
    expect(client.text.startsWith('HTTP/1.1 103 Early Hints\r\nX-Was: Set-Cookie,a\r\n\r\n')).toBe(true)
  })

  it('passes none on to HTTP/1.0, and no chunks', async () => {
    const answer = `HTTP/1.1 103 Early Hints\r\n\r\n${head200}Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`
    const { text } = await answerTo(answering(answer), '\0', 'GET / HTTP/1.0\r\n\r\n')
    expect(text).toBe(`${head200}Connection: close\r\n\r\nok`)
  })

  it('sends a head before a byte of the body is there', async () => {
    const { text } = await answerTo(
      answering(`${head200}Content-Type: text/event-stream\r\nX: \xe9\r\n\r\n`),
      '\r\n\r\n',
    )
    expect(text).toContain('X: \xe9\r\n')
  })

  it('asks its gate again when it has waited for a connection', async () => {
    const looked = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    let isShut = false
    const look = () => {
      asked.resolve()
      return looked.promise
    }
    const gate = { mayPass: () => !isShut, look, isOpen: () => true }
    // Shut as soon as the first answer is on its way.
    const answer = (_: number, headers: readonly string[]) => {
      isShut ||= wires.endings.length === 0
      return headers
    }
    const { wires, client } = await start(() => {}, { gate, answer, limits: { connections: 1 } })
    client.write(get)
    const app = await wires.app(1)
    await app.has('\r\n\r\n')
    const second = await wires.client()
    const came = once(wires.server, 'request')
    second.write(get)
    await came
    app.write('HTTP/1.1 204 No Content\r\n\r\n')
    await asked.promise
    expect([app.text, second.text]).toEqual([`${get.slice(0, -2)}Connection: keep-alive\r\n\r\n`, ''])
    isShut = false
    looked.resolve()
    await client.has('204')
    await app.when(({ text }) => countOf(text, 'GET ') === 2)
    app.write('HTTP/1.1 204 No Content\r\n\r\n')
    await second.has('204')
  })
})
