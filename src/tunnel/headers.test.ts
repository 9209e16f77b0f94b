import { expect, it } from 'vitest'
import { fromContainer, toContainer } from './headers.ts'

const prefix = '/dispatch/v1/containers/u/ports/8080'
const pairsOf = (list: readonly string[]) =>
  list.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${list[index + 1]}`] : []))

it('toContainer drops credentials, what proxies say and what holds for one connection', () => {
  const sent = [
    ...[
      'Host',
      'localhost',
      'Authorization',
      'Bearer t',
      'Cookie',
      'a=b',
      'Origin',
      'https://a',
      'Referer',
      'https://a',
    ],
    ...[
      'X-Auth-Request-Token',
      't',
      'X_Auth_Request_User',
      'root',
      'X-Forwarded-User',
      'root',
      'X-Skylab-Ingress',
      's',
    ],
    ...['Connection', 'Secret-Hop', 'Secret-Hop', 'x', 'Upgrade', 'h2c', 'Accept', 'text/plain', 'X-Own', '1'],
  ]
  expect(pairsOf(toContainer(sent, 8080, prefix))).toEqual([
    ...['Host: localhost:8080', 'Accept: text/plain', 'X-Own: 1', `X-Forwarded-Prefix: ${prefix}`],
  ])
})

it('fromContainer sets no cookie, speaks for no origin, and runs nowhere', () => {
  const sent = [
    ...['Set-Cookie', 'a=b', 'set-cookie2', 'a=b', 'Clear-Site-Data', '*', 'Service-Worker-Allowed', '/', 'X-Own', '1'],
    ...['X-Accel-Redirect', '/secret', 'X-Auth-Request-User', 'root', 'X-Content-Type-Options', 'sniff'],
    ...['Connection', 'Hop', 'Hop', 'x', 'Content-Length', '3'],
  ]
  expect(pairsOf(fromContainer(sent, 8080, prefix))).toEqual([
    ...['X-Own: 1', 'Content-Length: 3', 'Cache-Control: private, no-store'],
    ...['Content-Security-Policy: sandbox', 'X-Content-Type-Options: nosniff'],
  ])
})

it.each([
  ['/a?b', `${prefix}/a?b`],
  ['http://localhost:8080/a', `${prefix}/a`],
  ['http://127.0.0.1:8080', `${prefix}/`],
  [`${prefix}/a`, `${prefix}/a`],
  ['a/b', 'a/b'],
  ['//elsewhere/a', '//elsewhere/a'],
  ['http://localhost:9/a', 'http://localhost:9/a'],
  ['http://localhost:8080.evil.example/a', 'http://localhost:8080.evil.example/a'],
  ['https://elsewhere.example.org/a', 'https://elsewhere.example.org/a'],
])('fromContainer leads from %s to %s', (location, expected) => {
  expect(fromContainer(['Location', location], 8080, prefix)[1]).toBe(expected)
})

it.each([
  [[], 'private, no-store'],
  [['public, max-age=60'], 'private, no-store'],
  [['max-age=60'], 'private, no-store'],
  [['Private, max-age=60'], 'Private, max-age=60'],
  [['no-store'], 'no-store'],
  [['private', 'PUBLIC'], 'private, no-store'],
  [['private, public=1'], 'private, no-store'],
  [['private, s-maxage=60'], 'private, no-store'],
  [['private="set-cookie", max-age=60'], 'private, no-store'],
  [['x=", private, ", max-age=60'], 'private, no-store'],
  [['private, publicly'], 'private, publicly'],
] as const)('fromContainer lets caches keep what says %j as %s', (said, expected) => {
  const sent = [
    ...said.flatMap(value => ['cache-control', value]),
    ...['CDN-Cache-Control', 'public', 'X-Cdn-Cache-Control', 'public', 'Surrogate-Control', 'max-age=60'],
  ]
  const pairs = pairsOf(fromContainer(sent, 8080, prefix)).filter(pair => /cache|surrogate/i.test(pair))
  expect(pairs.map(pair => pair.replace(/^cache-control: /i, ''))).toEqual([expected])
})

it('fromContainer forbids caches to keep an answer whose Cache-Control its Connection takes away', () => {
  const pairs = pairsOf(fromContainer(['Connection', 'Cache-Control', 'Cache-Control', 'private'], 8080, prefix))
  expect(pairs).toContain('Cache-Control: private, no-store')
})
