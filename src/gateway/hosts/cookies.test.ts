import { expect, it } from 'vitest'
import { cookiesForApp, setCookieOfApp } from '../policy/cookies.ts'
import {
  appCookie,
  clearNonceCookie,
  enteredBy,
  nonceCookie,
  nonceOf,
  setAppCookie,
  setNonceCookies,
} from './cookies.ts'

const sessionId = 'A'.repeat(43)
const loginHash = 'b'.repeat(64)
const hash = 'c'.repeat(64)

it('the session of an app is a cookie of its host alone, which no script and no app can set', () => {
  const line = setAppCookie({ sessionId, loginHash })
  expect(line).toBe(`${appCookie}=${sessionId}.${loginHash}; Path=/; Secure; HttpOnly; SameSite=Lax`)
  expect(appCookie).toMatch(/^__Host-Http-/)
  expect(setCookieOfApp(line, '/console/apps/a', false)).toBeUndefined()
  expect(cookiesForApp(`a=b; ${appCookie}=x; ${nonceCookie}cc=x`)).toBe('a=b')
})

it('enteredBy reads what setAppCookie wrote', () => {
  expect(enteredBy(['Cookie', `a=b; ${appCookie}=${sessionId}.${loginHash}`])).toEqual({ sessionId, loginHash })
})

it('enteredBy takes no name with a blank that browsers keep for ours', () => {
  const own = `${appCookie}=${sessionId}.${loginHash}`
  expect(enteredBy(['Cookie', `\xa0${appCookie}=${sessionId}.${hash}; ${own}`])).toEqual({ sessionId, loginHash })
})

it.each(['', sessionId, `${sessionId}.`, `.${loginHash}`, `${sessionId}.${loginHash}x`, `${sessionId}x.${loginHash}`])(
  'enteredBy reads nothing of %j',
  value => {
    expect(enteredBy(['Cookie', `${appCookie}=${value}`])).toBeUndefined()
  },
)

it('a nonce has ten minutes, and is found by its hash alone', () => {
  const [own] = setNonceCookies('n', hash, [])
  expect(own).toBe(`${nonceCookie}cccccccc=n; Path=/; Max-Age=600; Secure; HttpOnly; SameSite=Lax`)
  expect(nonceOf(hash, ['Cookie', `${nonceCookie}cccccccc=n`])).toBe('n')
  expect(nonceOf('d'.repeat(64), ['Cookie', `${nonceCookie}cccccccc=n`])).toBeUndefined()
  expect(clearNonceCookie(hash)).toContain(`${nonceCookie}cccccccc=; Path=/; Max-Age=0`)
})

it('setNonceCookies ends the oldest beyond four', () => {
  const ended = (names: readonly string[]) => {
    const cookie = names.map(each => `${nonceCookie}${each}=x`).join('; ')
    return setNonceCookies('n', hash, ['Cookie', cookie]).slice(1)
  }
  const end = (name: string) => expect.stringContaining(`${nonceCookie}${name}=; Path=/; Max-Age=0`)
  expect(ended([])).toEqual([])
  expect(ended(['1', '2', '3'])).toEqual([])
  expect(ended(['1', '2', '3', '4'])).toEqual([end('1')])
  expect(ended(['1', '2', '3', '4', '5', '6'])).toEqual([end('1'), end('2'), end('3')])
})
