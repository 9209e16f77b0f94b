import { describe, expect, it } from 'vitest'
import { exampleSite } from '../../../test/kit/gateway/routes.ts'
import { ApiError } from '../../base/errors.ts'
import { checkGatewayHead, checkUpgrade, type GatewayHead, isMethodAllowed, isNavigation } from './head.ts'
import { hostsOf } from './hosts.ts'
import { isOurOrigin, siteOf } from './site.ts'

interface Ask {
  readonly method?: string
  readonly headers?: readonly string[]
  readonly httpVersion?: string
  readonly url?: string
}

/** As Node reads it: the first of doubles counts for most names. */
function headOf({ method = 'GET', headers = ['Host', exampleSite.host], httpVersion = '1.1', url = '/' }: Ask) {
  const read: Record<string, string> = {}
  for (let i = 0; i < headers.length; i += 2) read[headers[i]!.toLowerCase()] ??= headers[i + 1]!
  return { method, rawHeaders: [...headers], headers: read, httpVersion, url } as GatewayHead
}

const limits = { maxHeaders: 20, maxTargetBytes: 100 }

function statusOf(work: () => void): number {
  try {
    work()
    return 200
  } catch (error) {
    if (error instanceof ApiError) return error.status
    throw error
  }
}
const check = (ask: Ask, publicUrl = exampleSite.origin) =>
  statusOf(() => checkGatewayHead(headOf(ask), limits, hostsOf({ publicUrl })))

describe('checkGatewayHead', () => {
  it.each(['platform.example.org', 'PLATFORM.example.org', 'platform.example.org:443'])('takes the Host %s', host => {
    expect(check({ headers: ['Host', host] })).toBe(200)
  })

  it.each([
    ['platform.example.org:80', 421],
    ['platform.example.org:8443', 421],
    ['platform.example.org.', 421],
    ['xplatform.example.org', 421],
    ['example.org', 421],
    ['10.0.0.7', 421],
    ['', 400],
    ['platform.example.org/x', 400],
    ['platform.example.org\\x', 400],
    ['ada@platform.example.org', 400],
    ['platform.example.org, other', 400],
    ['platform.example.org:443:443', 400],
    ['platform%2eexample.org', 400],
  ])('refuses the Host %j with %i', (host, status) => {
    expect(check({ headers: ['Host', host] })).toBe(status)
  })

  it('takes the port of a public address that has one', () => {
    const site = siteOf('http://LOCALHOST:8080/')
    expect(site).toEqual({ origin: 'http://localhost:8080', host: 'localhost:8080', proto: 'http' })
    expect(check({ headers: ['Host', 'localhost:8080'] }, site.origin)).toBe(200)
    expect(check({ headers: ['Host', 'localhost'] }, site.origin)).toBe(421)
    expect(check({ headers: ['Host', 'localhost:80'] }, 'http://localhost')).toBe(200)
  })

  it('refuses a head without Host in each version', () => {
    expect(['1.1', '1.0'].map(httpVersion => check({ headers: [], httpVersion }))).toEqual([400, 400])
  })

  it.each(['0.9', '2.0'])('refuses HTTP/%s', httpVersion => {
    expect(check({ httpVersion })).toBe(400)
  })

  it.each([
    ...['authorization', 'content-length', 'content-type', 'expect', 'host', 'origin', 'range', 'sec-fetch-mode'],
    ...['sec-websocket-key', 'sec-websocket-version', 'transfer-encoding', 'upgrade'],
  ])('refuses a second %s', name => {
    const headers = ['Host', exampleSite.host, name, exampleSite.host, name.toUpperCase(), exampleSite.host]
    expect(check({ headers })).toBe(400)
  })

  it('takes what may repeat', () => {
    expect(
      check({ headers: ['Host', exampleSite.host, 'Cookie', 'a', 'cookie', 'b', 'Accept', '*', 'Accept', '*'] }),
    ).toBe(200)
  })

  it('refuses more headers and longer targets than the bounds', () => {
    const many = ['Host', exampleSite.host, ...Array.from({ length: 20 }, (_, i) => [`X-${i}`, '']).flat()]
    expect(check({ headers: many.slice(0, 40) })).toBe(200)
    expect(check({ headers: many })).toBe(431)
    expect(check({ url: `/${'a'.repeat(99)}` })).toBe(200)
    expect(check({ url: `/${'a'.repeat(100)}` })).toBe(414)
  })

  it.each(['CONNECT', 'TRACE'])('refuses %s', method => {
    expect(check({ method })).toBe(405)
    expect(isMethodAllowed(method)).toBe(false)
  })

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'MKCOL'])('takes %s', method => {
    expect(check({ method })).toBe(200)
  })
})

describe('checkUpgrade', () => {
  const upgrade = (upgrade: string, origin: string | undefined, change: Ask = {}) =>
    statusOf(() => {
      const headers = [
        'Host',
        exampleSite.host,
        'Upgrade',
        upgrade,
        ...(origin === undefined ? [] : ['Origin', origin]),
      ]
      checkUpgrade(headOf({ headers, ...change }), exampleSite)
    })

  it.each(['websocket', 'WebSocket'])('takes %s from a page of ours', name => {
    expect(upgrade(name, exampleSite.origin)).toBe(200)
  })

  it.each(['h2c', 'websocket, h2c', 'websockets', 'TLS/1.0', 'tcp', ''])('refuses a change to %j', name => {
    expect(upgrade(name, exampleSite.origin)).toBe(405)
  })

  it('refuses other methods and HTTP/1.0', () => {
    expect(upgrade('websocket', exampleSite.origin, { method: 'POST' })).toBe(405)
    expect(upgrade('websocket', exampleSite.origin, { httpVersion: '1.0' })).toBe(405)
  })

  it.each([
    ...[undefined, '', 'null', 'http://platform.example.org', 'https://platform.example.org:443', 'https://evil.org'],
    ...['https://PLATFORM.example.org', 'https://platform.example.org/', 'https://platform.example.org.evil.org'],
    ...['https://platform.example.org https://evil.org', ' https://platform.example.org', 'platform.example.org'],
  ])('refuses the Origin %j', origin => {
    expect(upgrade('websocket', origin)).toBe(403)
    expect(isOurOrigin(origin, exampleSite)).toBe(false)
  })
})

describe('isNavigation', () => {
  it.each([
    ['GET', { 'sec-fetch-mode': 'navigate' }, true],
    ['HEAD', { 'sec-fetch-mode': 'navigate' }, true],
    ['POST', { 'sec-fetch-mode': 'navigate', accept: 'text/html' }, false],
    ['GET', { 'sec-fetch-mode': 'cors', accept: 'text/html' }, false],
    ['GET', { 'sec-fetch-mode': 'websocket' }, false],
    ['GET', { accept: 'application/xhtml+xml, Text/HTML;q=0.9' }, true],
    ['GET', { accept: '*/*' }, false],
    ['GET', {}, false],
  ])('of %s with %j is %s', (method, headers, expected) => {
    expect(isNavigation({ method, headers })).toBe(expected)
  })
})
