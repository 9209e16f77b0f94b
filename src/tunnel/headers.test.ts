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
    ...['X-Own: 1', 'Content-Length: 3', 'Content-Security-Policy: sandbox', 'X-Content-Type-Options: nosniff'],
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
