import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ManualClock } from '../../test/kit/clock.ts'
import { json, LocalServer, status } from '../../test/kit/images/server.ts'
import { RawServer, type RespondRaw, rawAnswer, rawFaults, rawHangs } from '../../test/kit/network/raw-server.ts'
import { outcomeWithin } from '../base/deadline.ts'
import { AnswerError } from './answer.ts'
import { HttpClient, type HttpRequest } from './exchange.ts'
import { LiteralConnector } from './literal.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  for (const close of closing.splice(0)) await close()
})

const maxConnectionBytes = 4 * 1024 * 1024

function literalClient(maxConnections = 1): HttpClient {
  const client = new HttpClient({ maxConnections, connections: { literal: true, maxConnectionBytes } })
  closing.push(() => client.close())
  return client
}

async function pair(respond: RespondRaw, { host = '127.0.0.1' } = {}) {
  const server = await RawServer.start(respond, host)
  closing.push(() => server.stop())
  const client = literalClient()
  const shown = host.includes(':') ? `[${host}]` : host
  const request = (change: Partial<HttpRequest> = {}): HttpRequest => ({
    method: 'GET',
    url: new URL(`http://${shown}:${server.port}/some/path?a=b`),
    maxBytes: 1024 * 1024,
    ...change,
  })
  return { server, client, request }
}

describe('HttpClient.exchange', () => {
  it('sends one request and returns its answer', async () => {
    const { server, client, request } = await pair(socket => socket.write(rawAnswer('[1]')))
    const answer = await client.exchange(request({ headers: { Authorization: 'token abc' } }))
    expect(answer.status).toBe(200)
    expect(answer.body.toString()).toBe('[1]')
    expect(answer.header('date')).toBe('Thu, 14 Aug 2025 03:25:26 GMT')
    expect(answer.header('x-other')).toBe('')
    const lines = server.heads[0]!.split('\r\n')
    expect(lines[0]).toBe('GET /some/path?a=b HTTP/1.1')
    expect(
      lines
        .slice(1)
        .map(line => line.toLowerCase())
        .toSorted(),
    ).toEqual([
      'authorization: token abc',
      'connection: keep-alive',
      `host: 127.0.0.1:${server.port}`,
      'user-agent: skylab',
    ])
  })

  it('connects to an IPv6 address', async () => {
    const { client, request } = await pair(socket => socket.write(rawAnswer('[]')), { host: '::1' })
    expect((await client.exchange(request())).status).toBe(200)
  })

  it('shares one connection among requests in turn', async () => {
    const { server, client, request } = await pair(socket => socket.write(rawAnswer('[]')))
    for (let i = 0; i < 3; i += 1) await client.exchange(request())
    expect([server.connections, server.heads.length]).toEqual([1, 3])
  })

  it('opens no more connections than allowed when requests are made at once', async () => {
    const waiting: (() => void)[] = []
    const server = await RawServer.start(socket => waiting.push(() => socket.write(rawAnswer('[]'))))
    closing.push(() => server.stop())
    const client = literalClient(2)
    const url = new URL(`http://127.0.0.1:${server.port}/`)
    const all = Promise.all([1, 2, 3, 4, 5].map(() => client.exchange({ method: 'GET', url, maxBytes: 100 })))
    for (let answered = 0; answered < 5; answered += 1) {
      await server.when(({ heads }) => heads.length >= Math.min(5, answered + 2))
      waiting.shift()!()
    }
    await all
    expect(server.connections).toBe(2)
  })

  it('ends with its signal while it waits for a connection', async () => {
    const { server, client, request } = await pair(rawHangs['no answer'])
    const [first, second] = [new AbortController(), new AbortController()]
    const reason = new Error('gone')
    const asked = client.exchange(request({ signal: first.signal }))
    await server.when(({ heads }) => heads.length === 1)
    const waiting = client.exchange(request({ signal: second.signal }))
    second.abort(reason)
    await expect(waiting).rejects.toBe(reason)
    first.abort(reason)
    await expect(asked).rejects.toBe(reason)
    expect(server.heads.length).toBe(1)
  })

  it('opens no connection when its signal was aborted before', async () => {
    const [first, second] = [await pair(() => {}), await pair(socket => socket.write(rawAnswer('[1]')))]
    const reason = new Error('gone')
    const asked = first.client.exchange(first.request({ signal: AbortSignal.abort(reason) }))
    await expect(asked).rejects.toBe(reason)
    await first.client.exchange(second.request())
    expect(first.server.connections).toBe(0)
  })

  it('leaves no listener at its signal', async () => {
    const { client, request } = await pair(socket => socket.write(rawAnswer('[1]')))
    const { signal } = new AbortController()
    await client.exchange(request({ signal }))
    await client.exchange(request({ signal, maxBytes: 1 })).catch(() => {})
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  it('returns a redirect without following it', async () => {
    const elsewhere = await LocalServer.start(json({}))
    closing.push(() => elsewhere.stop())
    const headers = `Location: ${elsewhere.url}/\r\n`
    const { client, request } = await pair(socket => socket.write(rawAnswer('', { status: '302 Found', headers })))
    expect((await client.exchange(request())).status).toBe(302)
    expect(elsewhere.asked).toEqual([])
  })

  it('returns a compressed body as it is', async () => {
    const zipped = gzipSync('[]')
    const { client, request } = await pair(socket => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${zipped.length}\r\n\r\n`)
      socket.write(zipped)
    })
    const answer = await client.exchange(request())
    expect(answer.body).toEqual(zipped)
    expect(answer.header('content-encoding')).toBe('gzip')
  })

  it('uses no proxy that the environment names', async () => {
    const proxy = await LocalServer.start(status(502))
    closing.push(() => proxy.stop())
    const { client, request } = await pair(socket => socket.write(rawAnswer('[]')))
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY']) vi.stubEnv(name, proxy.url)
    vi.stubEnv('NODE_USE_ENV_PROXY', '1')
    expect((await client.exchange(request())).status).toBe(200)
    expect(proxy.asked).toEqual([])
  })
})

describe('HttpClient.exchange with a hostile server', () => {
  it.each(Object.entries(rawFaults))('fails, and leaves no connection open, after %s', async (_, fault) => {
    const { server, client, request } = await pair(fault)
    const failure = await client.exchange(request()).then(
      () => undefined,
      (error: Error) => error,
    )
    expect(failure).toBeInstanceOf(Error)
    expect(failure!.message).not.toContain('secret-of-ada')
    await client.close()
    await server.when(({ open }) => open === 0)
  })

  it.each(Object.entries(rawHangs))('waits until the signal is aborted for %s', async (_, hang) => {
    const { server, client, request } = await pair(hang)
    const clock = new ManualClock()
    const outcome = outcomeWithin(clock, 10_000, undefined, signal => client.exchange(request({ signal })))
    await server.when(({ heads }) => heads.length === 1)
    clock.advance(10_000)
    expect(await outcome).toEqual(new Error('no answer within 10000 ms'))
    await client.close()
    await server.when(({ open }) => open === 0)
  })

  it.each<keyof typeof rawFaults>(['a body without end', 'chunks without end'])(
    'reads no more of %s than allowed',
    async fault => {
      const { client, request } = await pair(rawFaults[fault])
      await expect(client.exchange(request({ maxBytes: 5000 }))).rejects.toThrow(
        new AnswerError('the answer is larger than 5000 bytes'),
      )
    },
  )

  it.each<keyof typeof rawFaults>(['an extension of a chunk without end', 'a storm of 103 Early Hints'])(
    'reads no more than a connection may bring of %s',
    async fault => {
      const { client, request } = await pair(rawFaults[fault])
      await expect(client.exchange(request())).rejects.toThrow(
        new AnswerError(`the server sends more than ${maxConnectionBytes} bytes on one connection`),
      )
    },
  )

  it('takes the first of two answers, and none of them for the next request', async () => {
    const { server, client, request } = await pair(socket => socket.write(rawAnswer('[1]') + rawAnswer('[2]')))
    expect((await client.exchange(request())).body.toString()).toBe('[1]')
    expect((await client.exchange(request())).body.toString()).toBe('[1]')
    expect(server.connections).toBe(2)
  })
})

describe('HttpClient of literal addresses', () => {
  it.each([
    ['http://localhost:1/', 'the host is a name, not an IP address'],
    ['http://nb-ada.lab-ada.svc:8888/', 'the host is a name, not an IP address'],
    ['https://127.0.0.1:1/', 'the address is not one of plain HTTP'],
  ])('refuses %s', async (url, words) => {
    const asked = literalClient().exchange({ method: 'GET', url: new URL(url), maxBytes: 100 })
    await expect(asked).rejects.toThrow(new AnswerError(words))
  })

  it('fails when nothing listens', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as { port: number }
    free.close()
    await once(free, 'close')
    const asked = literalClient().exchange({ method: 'GET', url: new URL(`http://127.0.0.1:${port}/`), maxBytes: 100 })
    await expect(asked).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('closes a connection that is still being opened', async () => {
    const { server } = await pair(() => {})
    const connector = new LiteralConnector(1000)
    const opened = new Promise((resolve, reject) => {
      const options = { hostname: '127.0.0.1', protocol: 'http:', port: String(server.port) }
      connector.connect(options, (error, socket) => (error ? reject(error) : resolve(socket)))
    })
    connector.close()
    await expect(opened).rejects.toThrow(new AnswerError('the connection was closed by this side'))
  })
})
