import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { exampleRoute } from '../../../test/kit/gateway/routes.ts'
import { appPhases } from '../../base/app-route.ts'
import {
  failedLoginPage,
  farewellPage,
  forbiddenPage,
  loggedInPage,
  loggedOutPage,
  loginPage,
  logOutFirstPage,
  notFoundPage,
  type Page,
  phasePage,
  problemPage,
  problems,
  startedPage,
} from './pages.ts'

/** Text only. */
const textOf = ({ body }: Page) =>
  body
    .replace(/<style>.*?<\/style>/gs, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')

const hostile = `"><script>alert('1')</script>&amp;`
const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'
const hostileRoute = exampleRoute({ displayName: hostile, group: hostile, message: hostile })

const all: readonly [string, Page, number][] = [
  ['login', loginPage({}), 200],
  ['login with a problem', loginPage({ problem: hostile, next: hostile }), 401],
  ['logged in', loggedInPage(hostile, hostile), 200],
  ['logged out', loggedOutPage(), 200],
  ['farewell', farewellPage(hostile), 200],
  ['a login that led nowhere', failedLoginPage({ status: 403, says: hostile, next: hostile }), 403],
  ['a login beside that of somebody else', logOutFirstPage({ status: 409, says: hostile }), 409],
  ['forbidden', forbiddenPage(hostileRoute), 403],
  ['not found', notFoundPage(), 404],
  ['started', startedPage(hostileRoute), 503],
  ...appPhases.map((phase): [string, Page, number] => [
    phase,
    phasePage({ ...hostileRoute, phase }, { token: hostile }),
    503,
  ]),
  ...Object.entries(problems).map(([name, each]): [string, Page, number] => [name, problemPage(each), each.status]),
  ['a refusal', problemPage({ status: 400, title: hostile, says: hostile }), 400],
]

describe.each(all)('the page of %s', (_, page, status) => {
  it('is whole, and is kept by no cache', () => {
    expect(page.status).toBe(status)
    expect(page.headers).toMatchObject({
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'same-origin',
    })
    expect(page.body).toMatch(/^<!doctype html>\n<html lang="en">/)
    expect(page.body).toMatch(/<main>\n<h1>.+<\/h1>/)
  })

  it('has no script, loads nothing, and escapes what is not ours', () => {
    expect(page.body).not.toMatch(/<(script|img|iframe|link|object|base)\b|\s(on\w+|style|src)=/i)
    expect(page.body).not.toContain("alert('1')")
    expect(page.body.split('<script>')).toHaveLength(1)
  })

  it('permits its own style, forms to the gateway, and nothing else', () => {
    const [, style] = /<style>(.*?)<\/style>/s.exec(page.body)!
    const hash = createHash('sha256').update(style!).digest('base64')
    expect(page.headers['Content-Security-Policy']).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    )
  })
})

describe('loginPage', () => {
  it('asks for a token, and keeps where the login leads', () => {
    const { body } = loginPage({ next: '/console/apps/a/?b="c"&d' })
    expect(body).toContain('<form method="post" action="/console/login">')
    expect(body).toContain('<input type="hidden" name="next" value="/console/apps/a/?b=&quot;c&quot;&amp;d">')
    expect(body).toContain('<input type="password" name="token" required')
    expect(loginPage({}).body).not.toContain('name="next"')
  })

  it('shows why the last try failed', () => {
    expect(textOf(loginPage({ problem: 'This token is not known.' }))).toContain('This token is not known.')
    expect(loginPage({ problem: hostile }).body).toContain(escaped)
  })
})

describe('loggedInPage', () => {
  it('names the user, and offers to log out', () => {
    const { body } = loggedInPage('ada', 'tok')
    expect(body).toContain('You are <bdi>ada</bdi>.')
    expect(body).toMatch(
      /<form method="post" action="\/console\/logout">\n<input type="hidden" name="token" value="tok">/,
    )
  })
})

describe('forbiddenPage', () => {
  it('names app and group', () => {
    expect(textOf(forbiddenPage(exampleRoute()))).toContain('My MLflow is for members of the group physics')
    expect(textOf(forbiddenPage(exampleRoute({ displayName: '' })))).toContain('mlflow-x is for members')
    expect(forbiddenPage(hostileRoute).body.split(escaped)).toHaveLength(3)
  })
})

describe('phasePage', () => {
  it.each(['Starting', 'Stopping'] as const)('looks again by itself while the app is %s', phase => {
    const page = phasePage(exampleRoute({ phase, message: 'pulls its image' }), { token: 'tok' })
    expect(page.headers).toMatchObject({ Refresh: '5', 'Retry-After': '5' })
    expect(textOf(page)).toMatch(new RegExp(`My MLflow : ${phase} pulls its image .*every 5 seconds`))
    expect(page.body).not.toContain('<form')
  })

  it('offers a start when the app is stopped and the visitor may start it', () => {
    const page = phasePage(exampleRoute({ phase: 'Stopped' }), { token: 'tok' })
    expect(page.body).toMatch(
      /<form method="post" action="\/console\/start\/mlflow-x">\n<input type="hidden" name="token" value="tok">\n<button type="submit">Start</,
    )
    expect(page.headers).toMatchObject({ 'Retry-After': '60' })
    expect(page.headers).not.toHaveProperty('Refresh')
    expect(phasePage(exampleRoute({ phase: 'Stopped' })).body).not.toContain('<form')
  })

  it('shows the reason of an error, and offers nothing', () => {
    const page = phasePage(exampleRoute({ phase: 'Error', message: 'FailedCreate: exceeded quota' }), { token: 'tok' })
    expect(textOf(page)).toContain('FailedCreate: exceeded quota')
    expect(page.body).not.toContain('<form')
    expect(phasePage(hostileRoute).body).toContain(`<p class="words"><bdi>${escaped}</bdi></p>`)
  })

  it('has no empty line where there is no message', () => {
    expect(phasePage(exampleRoute({ phase: 'Error' })).body).not.toContain('class="words"')
  })
})

describe('startedPage', () => {
  it('looks again, whatever the phase was', () => {
    const page = startedPage(exampleRoute({ phase: 'Stopped' }))
    expect(page.headers.Refresh).toBe('5')
    expect(textOf(page)).toContain('Starting')
  })
})
