import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exampleRoute, exampleSite } from '../../../test/kit/gateway/routes.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { type ToAppFacts, toApp, trailersToApp } from './to-app.ts'

const facts: ToAppFacts = { site: exampleSite, address: '192.0.2.7', user: 'ada', isForeignAuthorization: false }
const told = [
  ...['X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Proto', 'https', 'X-Forwarded-Host', 'platform.example.org'],
  ...['X-Forwarded-Prefix', '/console/apps/mlflow-x', 'X-Forwarded-User', 'ada'],
]
const host = ['Host', 'app-mlflow-x.hub:5000']
const sent = (headers: readonly string[], route: Partial<AppRoute> = {}, change: Partial<ToAppFacts> = {}) =>
  toApp(headers, exampleRoute(route), { ...facts, ...change })

/** Names that no visitor may write, in the case in which attackers write them. */
const forged = [
  ...[
    'Connection',
    'Keep-Alive',
    'Proxy-Connection',
    'Proxy-Authorization',
    'Proxy',
    'TE',
    'Upgrade',
    'HTTP2-Settings',
  ],
  ...['Transfer-Encoding', 'Forwarded', 'X-Forwarded-For', 'X-Forwarded-User', 'X-FORWARDED-Client-Cert'],
  ...['X-Forwarded-Anything', 'X-Real-IP', 'X-Auth-Request-User', 'X-Auth-Request-Token', 'x-auth-request-email'],
  ...['X-Original-URL', 'X-Original-Method', 'X-Rewrite-URL', 'X-Skylab-Ingress-Secret', 'X-Skylab-Any', 'Remote-User'],
  ...['X-Remote-User', 'X-WebAuth-User', 'X-Client-IP', 'True-Client-IP', 'X-Cluster-Client-IP', 'X-Accel-Mapping'],
  ...[
    'X-Sendfile-Type',
    'X_Forwarded_User',
    'X.Forwarded.User',
    'X-Forwarded_User',
    'Remote_User',
    'any_name',
    '_',
    'Authorization',
  ],
]

describe('toApp', () => {
  it('keeps what is the app’s, in case, order and number', () => {
    const headers = [
      'zZ',
      '1',
      'Accept',
      'a',
      'Accept',
      'b',
      'Origin',
      exampleSite.origin,
      'X-U',
      '\xe9',
      'Trailer',
      'T',
    ]
    expect(sent(['HOST', 'platform.example.org', ...headers])).toEqual([...host, ...headers, ...told])
  })

  it.each(forged)('drops %s', name => {
    expect(sent([name, 'forged', name.toLowerCase(), 'forged', name.toUpperCase(), 'forged'])).toEqual([
      ...host,
      ...told,
    ])
  })

  it('drops what Connection names, but nothing that the gateway tells', () => {
    const named = 'X-A, x-b ,,cookie,host, x-forwarded-user, X-Forwarded-For, close, origin'
    const headers = [
      'X-A',
      '1',
      'x-B',
      '2',
      'Connection',
      named,
      'Cookie',
      'a=1',
      'X-C',
      '3',
      'connection',
      'x-d',
      'X-D',
      '',
    ]
    expect(sent(headers)).toEqual([...host, 'X-C', '3', ...told])
  })

  it('shows the public host to an app that wants it', () => {
    expect(sent([], { passHost: true })).toEqual(['Host', 'platform.example.org', ...told])
  })

  it('tells no user to a public app, and none that is not known', () => {
    const withoutUser = [...host, ...told.slice(0, -2)]
    expect(sent([], { audience: { kind: 'public' } })).toEqual(withoutUser)
    expect(sent([], { audience: { kind: 'loggedIn' } }, { user: undefined })).toEqual(withoutUser)
    expect(sent([], { audience: { kind: 'loggedIn' } })).toEqual([...host, ...told])
  })

  it('tells a user in UTF-8, and no address that is not known', () => {
    const list = sent([], {}, { user: 'zoë', address: undefined })
    expect(Buffer.from(list.at(-1)!, 'latin1').toString()).toBe('zoë')
    expect(list).not.toContain('X-Forwarded-For')
  })

  it.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, false],
  ])('passes Authorization on where the app wants it (%s) and nobody knows it (%s): %s', (wants, isForeign, passed) => {
    const list = sent(
      ['Authorization', 'Bearer x'],
      { passAuthorization: wants },
      { isForeignAuthorization: isForeign },
    )
    expect(list.includes('Bearer x')).toBe(passed)
  })

  it('drops our cookies from each Cookie header', () => {
    const headers = [
      'Cookie',
      'a=1; __Host-Http-skylab-login=x',
      'cookie',
      'phapplication-session-id=y',
      'Cookie',
      'b=2',
    ]
    expect(sent(headers)).toEqual([...host, 'Cookie', 'a=1', 'Cookie', 'b=2', ...told])
  })

  it('lets no forged header through, whatever stands beside it', () => {
    const token = fc.stringMatching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}$/)
    const name = fc.oneof(token, fc.constantFrom(...forged), fc.constantFrom('Connection', 'Accept'))
    const value = fc.constantFrom('x', 'close, x-forwarded-for', 'x-forwarded-user')
    const cookie = fc.constantFrom(
      ['Cookie', '__Host-Http-skylab-login=secret; a=1'],
      ['cookie', 'b; phapplication-x=secret'],
    )
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.tuple(name, value), cookie), { maxLength: 12 }), pairs => {
        const list = sent(pairs.flat())
        const names = list.filter((_, i) => i % 2 === 0).map(each => each.toLowerCase())
        const ours = names.filter(each => each.startsWith('x-forwarded-'))
        expect(ours).toEqual(told.filter((_, i) => i % 2 === 0).map(each => each.toLowerCase()))
        expect(names.filter(each => each === 'host')).toHaveLength(1)
        expect(names.some(each => each.includes('_') || each === 'authorization' || each === 'connection')).toBe(false)
        expect(list.join()).not.toContain('secret')
      }),
      { numRuns: 500 },
    )
  })
})

describe('trailersToApp', () => {
  it.each([...forged, 'Cookie', 'Host'])('drops %s', name => {
    expect(trailersToApp([name, '1', 'X-T', '2'])).toEqual(['X-T', '2'])
  })
})
