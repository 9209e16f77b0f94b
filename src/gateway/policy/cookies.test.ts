import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  clearLoginCookie,
  cookiesForApp,
  cookiesOf,
  loginCookie,
  sessionCookie,
  setCookieOfApp,
  setLoginCookie,
  setSessionCookie,
} from './cookies.ts'

const id = (letter: string) => letter.repeat(43)
const prefix = '/console/apps/mlflow-x'

describe('cookiesOf', () => {
  it('reads login and session from all Cookie headers', () => {
    const headers = ['cookie', `a=1;${loginCookie}=${id('l')} ; b`, 'X', `${loginCookie}=${id('x')}`]
    expect(cookiesOf([...headers, 'Cookie', `${sessionCookie}=${id('s')}`])).toEqual({
      login: [id('l')],
      session: [id('s')],
    })
  })

  it('takes no name with a blank that browsers keep for ours', () => {
    const planted = [...'\xa0\x0b\x0c'].map(blank => `${blank}${loginCookie}=${id('p')}`)
    expect(cookiesOf(['Cookie', [...planted, `\t ${loginCookie} =\t${id('l')} `].join(';')]).login).toEqual([id('l')])
  })

  it('tries four of 200 session cookies, the first', () => {
    const ids = Array.from({ length: 200 }, (_, i) => id('s').slice(3) + String(i).padStart(3, '0'))
    const header = [...ids.map(each => `${sessionCookie}=${each}`), `${loginCookie}=${id('l')}`].join('; ')
    expect(cookiesOf(['Cookie', header])).toEqual({ login: [id('l')], session: ids.slice(0, 4) })
  })

  it('tries four of several headers, the first, and counts none twice', () => {
    const header = (...each: string[]) => ['Cookie', each.map(name => `${sessionCookie}=${id(name)}`).join('; ')]
    const [first, second] = [header('a', 'b'), header('b', 'a', 'c', 'd', 'e')]
    const four = { login: [], session: ['a', 'b', 'c', 'd'].map(id) }
    expect(cookiesOf([...first, ...second])).toEqual(four)
    // The result of one header is not changed by the next one.
    expect(cookiesOf(first)).toEqual({ login: [], session: [id('a'), id('b')] })
    expect(cookiesOf([...first, ...second])).toEqual(four)
  })

  it('counts no cookie twice, nor one that cannot be ours', () => {
    const values = [
      '',
      'x',
      `"${id('q')}"`,
      `${id('l')}x`,
      id('é'),
      id(' '),
      id('='),
      id('%'),
      id('a'),
      id('a'),
      id('b'),
    ]
    const header = values.map(value => `${sessionCookie}=${value}`).join(';')
    expect(cookiesOf(['Cookie', header]).session).toEqual([id('a'), id('b')])
  })

  it('reads no name that only looks like ours', () => {
    const names = [
      '__host-http-skylab-login',
      'x__Host-Http-skylab-login',
      '__Host-Http-skylab-login2',
      '"__Host-Http-skylab-login"',
      '',
    ]
    expect(cookiesOf(['Cookie', names.map(name => `${name}=${id('l')}`).join('; ')]).login).toEqual([])
  })
})

describe('cookiesForApp', () => {
  it.each([
    ['a=1; b=2', 'a=1; b=2'],
    [`a=1; ${loginCookie}=x; b="2,3"; ${sessionCookie}=y; c`, 'a=1; b="2,3"; c'],
    [`${loginCookie}=x`, undefined],
    [`${sessionCookie}=x;${loginCookie}=x`, undefined],
    ['__HOST-SKYLAB-LOGIN=x; PhApplication-session-id=y; phapplication-other=z; __Host-x=w; q=', 'q='],
    [`${sessionCookie}; ${loginCookie} =x;	${sessionCookie}	=y; a=${sessionCookie}=z`, `a=${sessionCookie}=z`],
    ['gafaelfawr=x; jupyterhub-session-id=y; jupyterhub-hub-login=z; _xsrf=w', '_xsrf=w'],
    ['', undefined],
    [' ; ;', undefined],
    ['a=\xe9', 'a=\xe9'],
  ])('of %j is %j', (header, expected) => {
    expect(cookiesForApp(header)).toBe(expected)
  })

  it('keeps each cookie of the app as it is, and none of ours, wherever they stand', () => {
    const own = fc.constantFrom(`${loginCookie}=${id('l')}`, `${sessionCookie}=${id('s')}`, `${loginCookie}=`)
    const name = fc.stringMatching(/^[a-z]{1,8}$/)
    const foreign = fc.tuple(name, fc.stringMatching(/^[!#-+\--:<-[\]-~]{0,8}$/)).map(([n, v]) => `a-${n}=${v}`)
    fc.assert(
      fc.property(fc.array(fc.oneof(own, foreign), { maxLength: 12 }), pairs => {
        const kept = pairs.filter(pair => pair.startsWith('a-'))
        expect(cookiesForApp(pairs.join('; '))).toBe(kept.length > 0 ? kept.join('; ') : undefined)
      }),
    )
  })
})

describe('setCookieOfApp', () => {
  it.each([
    ['a=1', `a=1; Path=${prefix}`],
    ['a=1; Path=/; HttpOnly; Secure; SameSite=None', `a=1; HttpOnly; Secure; SameSite=None; Path=${prefix}`],
    [`a=1; path=${prefix}/sub`, `a=1; Path=${prefix}/sub`],
    [`a=1; Path=${prefix}`, `a=1; Path=${prefix}`],
    [`a=1; Path=${prefix}y`, `a=1; Path=${prefix}`],
    ['a=1; Path=/console/apps/other', `a=1; Path=${prefix}`],
    [`a=1; Path=${prefix}; PATH=/console`, `a=1; Path=${prefix}`],
    [`a=1; Path=/console;	pAtH	=	${prefix}/b`, `a=1; Path=${prefix}/b`],
    ['a=1; Path', `a=1; Path=${prefix}`],
    ['a=1; Path=x', `a=1; Path=${prefix}`],
    ['a=1; Domain=example.org; domain=.org; DOMAIN; Max-Age=1', `a=1; Max-Age=1; Path=${prefix}`],
    [
      'a="x, y"; Expires=Thu, 01 Jan 1970 00:00:00 GMT',
      `a="x, y"; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=${prefix}`,
    ],
    ['__Secure-a=1; Secure', `__Secure-a=1; Secure; Path=${prefix}`],
    ['\xe9=\xe9', `\xe9=\xe9; Path=${prefix}`],
  ])('of %j is %j', (header, expected) => {
    expect(setCookieOfApp(header, prefix, false)).toBe(expected)
  })

  it.each([
    ...[`${sessionCookie}=x`, 'phapplication-x=1', 'PHAPPLICATION-SESSION-ID=x', ` ${sessionCookie} =x`],
    ...[`${loginCookie}=x; Path=/; Secure`, '__Host-any=1', '__hOsT-any=1', 'gafaelfawr=x', 'jupyterhub-user-ada=x'],
    // A browser would send them back without a name, or as the name that the value is.
    ...[`=${sessionCookie}=x`, `=${loginCookie}=x`, '=x', sessionCookie, 'x', '', ' ; Path=/', ' = x'],
  ])('drops %j', header => {
    expect(setCookieOfApp(header, prefix, false)).toBeUndefined()
  })

  it('puts the prefix before the path of an app that has no prefix itself', () => {
    const paths = ['/', '/sub', `${prefix}/b`, prefix, 'x', '/console/apps/other']
    expect(paths.map(path => setCookieOfApp(`a=1; Path=${path}`, prefix, true)!.split('Path=')[1])).toEqual([
      ...[prefix, `${prefix}/sub`, `${prefix}/b`, prefix, prefix, `${prefix}/console/apps/other`],
    ])
  })

  it('leaves one path, under the prefix, and no domain, whatever the app writes', () => {
    const attribute = fc.oneof(
      fc.constantFrom('Domain=x', ' domain = .org', 'Path=/', ` PATH=${prefix}/x`, ' path\t=/y', 'Secure', 'Path', ''),
      fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map(code => String.fromCharCode(code)) }),
    )
    const header = fc.array(attribute, { maxLength: 6 }).map(attributes => ['a=1', ...attributes].join(';'))
    fc.assert(
      fc.property(header, fc.boolean(), (text, rewrite) => {
        const names = setCookieOfApp(text, prefix, rewrite)!
          .split(';')
          .slice(1)
          .map(each => each.split('=', 2).map(part => part.trim()))
        const paths = names.filter(([name]) => name!.toLowerCase() === 'path').map(([, path]) => path!)
        expect(paths).toHaveLength(1)
        expect(`${paths[0]}/`.startsWith(`${prefix}/`)).toBe(true)
        expect(names.some(([name]) => name!.toLowerCase() === 'domain')).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the cookies of the gateway', () => {
  it('are for one path each, and no script reads them', () => {
    const end = 'Secure; HttpOnly; SameSite=Lax'
    expect(setLoginCookie(id('l'), 43_200.9)).toBe(`__Host-Http-skylab-login=${id('l')}; Path=/; Max-Age=43200; ${end}`)
    expect(setSessionCookie('mlflow-x', id('s'))).toBe(`phapplication-session-id=${id('s')}; Path=${prefix}; ${end}`)
    expect(clearLoginCookie()).toBe(`__Host-Http-skylab-login=; Path=/; Max-Age=0; ${end}`)
  })
})
