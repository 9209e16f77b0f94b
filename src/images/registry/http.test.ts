import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { hastyClock } from '../../../test/kit/clock.ts'
import { faults, json, LocalServer, type Respond, status } from '../../../test/kit/images/server.ts'
import { type Certificate, makeCertificate } from '../../../test/kit/kube/server.ts'
import type { HttpRequest } from '../../http/exchange.ts'
import { mayLeadTo, RegistryHttp } from './http.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function pair(
  answer: Respond = json({}),
  { tls, authorities }: { tls?: Certificate; authorities?: string } = {},
) {
  const server = await LocalServer.start(answer, tls)
  const clock = hastyClock()
  const http = new RegistryHttp({ clock, timeoutMs: 5000, authorities })
  closing.push(
    () => http.close(),
    () => server.stop(),
  )
  const request = (change: Partial<HttpRequest> = {}): HttpRequest => ({
    method: 'GET',
    url: new URL('/some/path?a=b', server.url),
    maxBytes: 1000,
    ...change,
  })
  return { server, clock, http, request }
}

describe('RegistryHttp.send of one request', () => {
  it('returns the answer', async () => {
    const { http, request, server, clock } = await pair(json({ a: 1 }, { 'X-Some': 'value' }))
    const answer = await http.send(request({ headers: { Accept: 'application/json' } }))
    expect(answer).toMatchObject({ status: 200, body: Buffer.from('{"a":1}') })
    expect(answer.header('x-some')).toBe('value')
    expect(answer.header('x-other')).toBe('')
    expect(server.lines).toEqual(['GET /some/path?a=b'])
    expect(server.asked[0]!.headers).toMatchObject({ accept: 'application/json', 'user-agent': 'skylab' })
    expect(clock.sleeping).toBe(0)
  })

  it('joins repeated headers', async () => {
    const { http, request } = await pair(status(401, { 'WWW-Authenticate': ['Basic realm="a"', 'Bearer realm="b"'] }))
    expect((await http.send(request())).header('www-authenticate')).toBe('Basic realm="a", Bearer realm="b"')
  })

  it.each<[string, Respond]>([
    ['an answer', faults.never],
    ['the rest of one', faults['half an answer']],
  ])('waits for %s no longer than configured', async (_, fault) => {
    const { http, request, server, clock } = await pair(fault)
    const sending = http.send(request())
    await server.whenAsked(1)
    clock.advance(5000)
    await expect(sending).rejects.toThrow(
      /^127\.0\.0\.1:\d+: there is no answer in time: .* \(no answer within 5000 ms\)$/,
    )
    expect(clock.waits).toEqual([])
  })

  it('reads no more bytes than allowed', async () => {
    const { http, request, server } = await pair(faults.huge)
    await expect(http.send(request())).rejects.toThrow(`${server.host}: the answer is larger than 1000 bytes`)
  })

  it('names the server that cannot be reached', async () => {
    const { http, request, server } = await pair()
    const { host } = server
    const asked = request()
    await server.stop()
    await expect(http.send(asked)).rejects.toThrow(new RegExp(`^${host}: .*ECONNREFUSED`))
  })
})

describe('RegistryHttp.send with several attempts', () => {
  it.each([429, 500, 502, 503, 504])('tries again after %i, with a growing wait', async code => {
    const { http, request, server, clock } = await pair()
    server.faults.push(status(code), status(code))
    expect((await http.send(request())).status).toBe(200)
    expect(server.asked.length).toBe(3)
    expect(clock.waits.length).toBe(2)
    expect(clock.waits[0]).toBeGreaterThanOrEqual(250)
    expect(clock.waits[0]).toBeLessThanOrEqual(500)
    expect(clock.waits[1]).toBeGreaterThanOrEqual(500)
    expect(clock.waits[1]).toBeLessThanOrEqual(1000)
  })

  it.each<[string, Respond]>([
    ['cut off', faults['cut off']],
    ['that hung up', faults['hung up']],
  ])('tries again after a connection %s', async (_, fault) => {
    const { http, request, server } = await pair()
    server.faults.push(fault)
    expect((await http.send(request())).status).toBe(200)
    expect(server.asked.length).toBe(2)
  })

  it('makes at most three attempts', async () => {
    const { http, request, server } = await pair(status(503))
    await expect(http.send(request())).rejects.toThrow(`${server.host} answered 503`)
    expect(server.asked.length).toBe(3)
  })

  it.each([200, 301, 400, 401, 403, 404, 405, 501])('returns an answer with %i', async code => {
    const { http, request, server } = await pair(status(code))
    expect((await http.send(request())).status).toBe(code)
    expect(server.asked.length).toBe(1)
  })

  it('waits as long as the server asks', async () => {
    const { http, request, server, clock } = await pair()
    server.faults.push(status(429, { 'Retry-After': '3' }))
    expect((await http.send(request())).status).toBe(200)
    expect(clock.waits[0]).toBeGreaterThanOrEqual(3000)
  })

  it('waits until the date that the server sends', async () => {
    const { http, request, server, clock } = await pair()
    server.faults.push(status(503, { 'Retry-After': new Date(clock.wallMs() + 2000).toUTCString() }))
    await http.send(request())
    expect(clock.waits[0]).toBeGreaterThanOrEqual(2000)
  })

  it('fails when the server asks for a long wait', async () => {
    const { http, request, server } = await pair(status(429, { 'Retry-After': '60' }))
    await expect(http.send(request())).rejects.toThrow(`${server.host} answered 429 and asks to wait 60 s`)
    expect(server.asked.length).toBe(1)
  })

  it('ends when the caller’s signal is aborted', async () => {
    const { http, request, server, clock } = await pair(faults.never)
    const caller = new AbortController()
    const sending = http.send(request({ signal: caller.signal }))
    await server.whenAsked(1)
    const reason = new Error('gone')
    caller.abort(reason)
    await expect(sending).rejects.toBe(reason)
    await expect(http.send(request({ signal: caller.signal }))).rejects.toBe(reason)
    expect(clock.sleeping).toBe(0)
  })

  it('ends when the signal is aborted between two attempts', async () => {
    const caller = new AbortController()
    const { http, request, server } = await pair((asked, response) => {
      caller.abort(new Error('gone'))
      status(500)(asked, response)
    })
    await expect(http.send(request({ signal: caller.signal }))).rejects.toThrow('gone')
    expect(server.asked.length).toBe(1)
  })
})

describe('RegistryHttp.follow', () => {
  const headers = { Authorization: 'Basic secret', Accept: 'x' }
  const to = (url: string): Respond => status(307, { Location: url })

  it('sends all headers to the same host', async () => {
    const { http, request, server } = await pair()
    server.faults.push(to('/other'), status(301, { Location: `${server.url}/third` }))
    const answer = await http.follow(request({ headers }))
    expect(answer).toMatchObject({ status: 200, url: new URL('/third', server.url) })
    expect(server.shown).toEqual(['Basic secret', 'Basic secret', 'Basic secret'])
  })

  it('omits Authorization to another host, and on the way back too', async () => {
    const { http, request, server } = await pair()
    const other = await LocalServer.start(to(`${server.url}/back`))
    closing.push(() => other.stop())
    server.faults.push(to(`${other.url}/there`))
    expect((await http.follow(request({ headers }))).status).toBe(200)
    expect(other.lines).toEqual(['GET /there'])
    expect(other.asked[0]!.headers).toMatchObject({ accept: 'x' })
    expect([server.shown, other.shown]).toEqual([['Basic secret', undefined], [undefined]])
  })

  it('follows five redirects at most', async () => {
    const { http, request, server } = await pair(to('/again'))
    await expect(http.follow(request())).rejects.toThrow(`${server.host} redirects more than 5 times`)
    expect(server.asked.length).toBe(6)
  })

  it.each([
    ['http://registry.example.org/x', 'sends to http://registry.example.org, which is not trusted'],
    ['ftp://127.0.0.1/x', 'which is not trusted'],
    ['mailto:ada@example.org', 'which is not trusted'],
    ['http://:0:0', 'answered 307 without saying where to go'],
  ])('fails on a redirect to %s', async (location, words) => {
    const { http, request, server } = await pair()
    server.faults.push(to(location))
    await expect(http.follow(request())).rejects.toThrow(words)
    expect(server.asked.length).toBe(1)
  })

  it('is not used by send, which returns a redirect', async () => {
    const { http, request, server } = await pair(to('/other'))
    expect((await http.send(request())).status).toBe(307)
    expect(server.asked.length).toBe(1)
  })
})

describe('mayLeadTo', () => {
  it.each<[string, string, boolean]>([
    ['https://r.example.org', 'https://auth.example.org/token', true],
    ['https://r.example.org', 'http://auth.example.org/token', false],
    ['https://r.example.org', 'https://127.0.0.1/token', false],
    ['https://r.example.org', 'http://localhost:8080/token', false],
    ['http://r.example.org', 'http://r.example.org/token', true],
    ['http://r.example.org', 'http://auth.example.org/token', false],
    ['http://127.0.0.1:5000', 'http://localhost:5001/token', true],
    ['http://127.0.0.1:5000', 'https://auth.example.org/token', true],
    ['http://127.0.0.1:5000', 'ftp://127.0.0.1/token', false],
    ['https://r.example.org', 'https://r.example.org.evil.test', true],
  ])('from %s to %s is %s', (from, to, may) => {
    expect(mayLeadTo(new URL(from), new URL(to))).toBe(may)
  })
})

describe('RegistryHttp with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'skylab-registry-'))
  const own = makeCertificate(folder, 'own')
  const foreign = makeCertificate(folder, 'foreign')
  rmSync(folder, { recursive: true })

  it('trusts a configured authority', async () => {
    const { http, request } = await pair(json({}), { tls: own, authorities: own.ca })
    expect((await http.send(request())).status).toBe(200)
  })

  it('trusts the usual authorities too', async () => {
    const usual = getCACertificates('default')
    closing.push(async () => setDefaultCACertificates(usual))
    setDefaultCACertificates([foreign.ca])
    const { http, request } = await pair(json({}), { tls: foreign, authorities: own.ca })
    expect((await http.send(request())).status).toBe(200)
  })

  it('trusts several configured authorities', async () => {
    const { http, request } = await pair(json({}), { tls: own, authorities: `${foreign.ca}\n${own.ca}` })
    expect((await http.send(request())).status).toBe(200)
  })

  it.each([
    ['no authority of our own', undefined],
    ['another one', foreign.ca],
  ])('is refused with %s, before anything is sent', async (_, authorities) => {
    const { http, request, server } = await pair(json({}), { tls: own, ...(authorities && { authorities }) })
    await expect(http.send(request())).rejects.toThrow(new RegExp(`^${server.host}: .*certificate`))
    expect(server.asked).toEqual([])
  })
})
