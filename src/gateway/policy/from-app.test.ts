import { describe, expect, it } from 'vitest'
import { exampleRoute, exampleSite } from '../../../test/kit/gateway/routes.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { fromApp, trailersFromApp } from './from-app.ts'

const got = (headers: readonly string[], route: Partial<AppRoute> = {}) =>
  fromApp(headers, exampleRoute(route), exampleSite)
const prefix = '/console/apps/mlflow-x'

const dropped = [
  ...['Service-Worker-Allowed', 'Clear-Site-Data', 'Strict-Transport-Security', 'Alt-Svc', 'NEL', 'Report-To'],
  ...['Public-Key-Pins', 'Public-Key-Pins-Report-Only', 'Set-Login', 'Use-As-Dictionary', 'Set-Cookie2'],
  ...['Sec-Session-Registration', 'Secure-Session-Registration', 'X-Accel-Redirect', 'X-Accel-Buffering'],
  ...['X-Accel-Expires', 'X-Reproxy-URL', 'X-Reproxy-Status', 'X-Sendfile', 'X-Sendfile2', 'X-Lighttpd-Send-File'],
  ...['X-LiteSpeed-Location', 'X-Skylab-Any', 'X-Auth-Request-User', 'X-Forwarded-User', 'X-Original-URL'],
  ...['Connection', 'Keep-Alive', 'Proxy-Authenticate', 'Proxy-Connection', 'Upgrade', 'Transfer-Encoding', 'TE'],
]

describe('fromApp', () => {
  it('keeps what is the visitor’s, in case, order and number', () => {
    const headers = [
      'zZ',
      '1',
      'Vary',
      'a',
      'vary',
      'b',
      'Content-Length',
      '2',
      'X-U',
      '\xe9',
      'Cache-Control',
      'no-store',
    ]
    const ofPage = ['Content-Security-Policy', "default-src 'self'", 'X_Y', '1', 'WWW-Authenticate', 'Basic']
    expect(got([...headers, ...ofPage])).toEqual([...headers, ...ofPage])
  })

  it.each(dropped)('drops %s', name => {
    expect(got([name, 'x', name.toLowerCase(), 'x', name.toUpperCase(), 'x'])).toEqual([])
  })

  it('drops what Connection names, but not the length', () => {
    expect(got(['Connection', 'X-A, Content-Length', 'X-A', '1', 'Content-Length', '2'])).toEqual([
      'Content-Length',
      '2',
    ])
  })

  it('confines each cookie to the app', () => {
    const cookies = ['Set-Cookie', 'a=1; Domain=example.org; Path=/', 'set-cookie', 'phapplication-session-id=x']
    expect(got([...cookies, 'SET-COOKIE', '__Host-Http-skylab-login=x; Path=/; Secure', 'Set-Cookie', 'b=2'])).toEqual([
      ...['Set-Cookie', `a=1; Path=${prefix}`, 'Set-Cookie', `b=2; Path=${prefix}`],
    ])
  })

  it.each(['Location', 'location', 'Content-Location'])('makes %s public', name => {
    expect(got([name, 'http://app-mlflow-x.hub:5000/a'])).toEqual([name, `${exampleSite.origin}/a`])
  })

  it('makes Refresh public', () => {
    expect(got(['Refresh', '5; url=http://10.96.0.7:5000/a'])).toEqual(['Refresh', `5; url=${exampleSite.origin}/a`])
  })
})

describe('trailersFromApp', () => {
  it.each([...dropped, 'Set-Cookie', 'Location', 'Content-Location', 'Refresh', 'Content-Length'])('drops %s', name => {
    expect(trailersFromApp([name, 'x', 'X-T', '1'])).toEqual(['X-T', '1'])
  })
})
