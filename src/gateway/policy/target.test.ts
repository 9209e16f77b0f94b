import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AppTarget, checkNext, loginPath, nextOf, nextTo, pathForApp, readTarget, withSlash } from './target.ts'

const appTarget = (raw: string) => readTarget(raw) as AppTarget

describe('readTarget', () => {
  it.each([
    ['/console/apps/a', 'a', true],
    ['/console/apps/a?x=1', 'a', true],
    ['/console/apps/mlflow-x/', 'mlflow-x', false],
    ['/console/apps/mlflow-x//a', 'mlflow-x', false],
    ['/console/apps/mlflow-x/a;b=c/[d]|{e}^/%2f%2F..%2f/…'.replace('…', '%E2%80%A6'), 'mlflow-x', false],
    ['/console/apps/mlflow-x/%zz%', 'mlflow-x', false],
    ['/console/apps/mlflow-x/a"<>`', 'mlflow-x', false],
    ['/console/apps/mlflow-x/...', 'mlflow-x', false],
    ['/console/apps/mlflow-x/.a/a./..a', 'mlflow-x', false],
    ['/console/apps/mlflow-x/?q=a\\b/../c&d=http://e/??', 'mlflow-x', false],
    [`/console/apps/${'a'.repeat(50)}/`, 'a'.repeat(50), false],
    ['/console/apps/login/', 'login', false],
  ])('reads an app from %s', (raw, id, bare) => {
    expect(readTarget(raw)).toEqual({ kind: 'app', id, path: raw, bare })
  })

  it.each([
    // Dots that a reader resolves.
    '/console/apps/a/../b/',
    '/console/apps/a/..',
    '/console/apps/a/.',
    '/console/apps/a/./',
    '/console/apps/a/%2e%2e/b',
    '/console/apps/a/%2E./b',
    '/console/apps/a/.%2e?x',
    '/console/apps/a/%2e',
    '/console/apps/../apps/a/',
    '/../console/apps/a/',
    // Bytes that a reader changes, cuts at, or decodes differently.
    '/console/apps/a\\..\\b/',
    '/console\\apps/a/',
    '/console/apps/a/\\',
    '/console/apps/a/#/../b',
    '/console/apps/a/?x#y',
    '/console/apps/a/\x00',
    '/console/apps/a/\t',
    '/console/apps/a/\x7f',
    '/console/apps/a/?\x01',
    '/console/apps/a/ b',
    '/console/apps/\xc3\xa9/',
    '/console/apps/a/\xc3\xa9',
    '/console/apps/a/?\xff',
    // No path.
    'http://platform.example.org/console/apps/a/',
    'HTTPS://other/console/apps/a/',
    'console/apps/a/',
    'platform.example.org:443',
    '*',
    '',
    '?/console/apps/a/',
  ])('refuses %j with 400', raw => {
    expect(readTarget(raw)).toEqual({ kind: 'refused', status: 400, reason: expect.any(String) })
  })

  it.each([
    '/',
    '/console',
    '/console/',
    '/console/apps',
    '/console/apps/',
    '/console/apps//',
    '/console/apps//a/',
    '//console/apps/a/',
    '/console//apps/a/',
    '/console/apps/%61/',
    '/console/apps/a%2fb/',
    '/console/apps/a%00/',
    '/console/apps/a;x/',
    '/console/apps;x/a/',
    '/console/apps/A/',
    '/console/Apps/a/',
    '/CONSOLE/apps/a/',
    '/console/apps/1a/',
    '/console/apps/-a/',
    '/console/apps/a-/',
    '/console/apps/a.b/',
    '/console/apps/a_b/',
    '/console/apps/a:80/',
    '/console/apps/a@b/',
    `/console/apps/${'a'.repeat(51)}/`,
    '/console/login/',
    '/console/Login',
    '/console/logout/x',
    '/console/start/',
    '/console/start/A',
    '/console/start/a/',
    '/console/start/a%2fb',
    '/console/start',
    '/console%2fapps/a/',
  ])('finds nothing at %j', raw => {
    expect(readTarget(raw)).toEqual({ kind: 'refused', status: 404, reason: expect.any(String) })
  })

  it.each([
    ['/console/login', { kind: 'own', route: 'login', query: '' }],
    ['/console/login?next=/x&a', { kind: 'own', route: 'login', query: 'next=/x&a' }],
    ['/console/logout', { kind: 'own', route: 'logout', query: '' }],
    ['/console/callback?code=a&state=b', { kind: 'own', route: 'callback', query: 'code=a&state=b' }],
    ['/console/start/a-b?x', { kind: 'own', route: 'start', id: 'a-b' }],
  ])('reads a page of its own from %s', (raw, target) => {
    expect(readTarget(raw)).toEqual(target)
  })

  it('reads only apps that every reader of URLs finds at the same place', () => {
    const part = fc.constantFrom(
      ...[
        'console',
        'apps',
        'a',
        'b-1',
        'A',
        '',
        '.',
        '..',
        '%2e%2e',
        '%2E',
        '%2f',
        '..%2f',
        '..;',
        ';',
        '\\',
        '#',
        '?',
      ],
      ...['%', '%61', '\xe9', '\t', '@', ':80', 'http:', 'login', 'start'],
    )
    const joined = fc.array(part, { maxLength: 7 }).map(parts => `/${parts.join('/')}`)
    const path = fc.oneof(
      joined,
      joined.map(rest => `/console/apps/a${rest}`),
      joined.map(rest => `/console/apps${rest}`),
      fc.string({ unit: 'binary-ascii' }).map(rest => `/console/apps/a/${rest}`),
    )
    const counts = { app: 0, own: 0, refused: 0 }
    fc.assert(
      fc.property(path, raw => {
        const target = readTarget(raw)
        counts[target.kind] += 1
        if (target.kind !== 'app') return
        const { origin, pathname, hash, href } = new URL(`https://platform.example.org${raw}`)
        expect([origin, hash]).toEqual(['https://platform.example.org', ''])
        expect(pathname === `/console/apps/${target.id}` || pathname.startsWith(`/console/apps/${target.id}/`)).toBe(
          true,
        )
        // WHATWG escapes some bytes, but resolves nothing.
        const escaped = (text: string) => text.replace(/[<>"`{}^|]/g, encodeURIComponent).replace(/'/g, '%27')
        expect(escaped(href.slice(origin.length))).toBe(escaped(raw))
      }),
      { numRuns: 2000 },
    )
    expect(Math.min(counts.app, counts.refused)).toBeGreaterThan(100)
  })
})

describe('withSlash', () => {
  it('adds a slash after the id, and keeps the query as sent', () => {
    expect(withSlash(appTarget('/console/apps/a?b=%2f&c'))).toBe('/console/apps/a/?b=%2f&c')
    expect(withSlash(appTarget('/console/apps/a'))).toBe('/console/apps/a/')
  })
})

describe('pathForApp', () => {
  it.each([
    ['/console/apps/a/b%2fc//d?e=%zz', '/b%2fc//d?e=%zz'],
    ['/console/apps/a/', '/'],
    ['/console/apps/a/?x', '/?x'],
    ['/console/apps/a?x', '/?x'],
    ['/console/apps/a/console/apps/a/', '/console/apps/a/'],
  ])('cuts the prefix of %s off only when the app wants that', (raw, rest) => {
    const target = appTarget(raw)
    expect(pathForApp(target, { rewrite: false })).toBe(raw)
    expect(pathForApp(target, { rewrite: true })).toBe(rest)
  })
})

describe('next', () => {
  it.each(['/console/apps/a', '/console/apps/a/b%2fc?d=1&next=//evil', '/console/apps/a/%E2%80%A6'])(
    'leads through the login and back to %s',
    path => {
      const login = readTarget(loginPath(nextTo(appTarget(path))))
      expect(login).toMatchObject({ kind: 'own', route: 'login' })
      expect(nextOf((login as { query: string }).query)).toBe(path)
    },
  )

  it('is the first page of the app when the path is long', () => {
    const target = appTarget(`/console/apps/a/${'x'.repeat(2048)}`)
    expect(nextTo(target)).toBe('/console/apps/a/')
  })

  it.each([
    ...[
      '//evil',
      'https://evil/console/apps/a/',
      '/\\evil',
      '\\\\evil',
      '/console/apps/a/../../../x',
      '/console/login',
    ],
    ...['/console/logout', '/console/start/a', '/console/apps/', '/console/apps//evil', '/', '', 'javascript:alert(1)'],
    ...['/console/apps/a@evil', '/console/apps/A/', '/console/apps/a\r\nSet-Cookie: x=1', '\t/console/apps/a/'],
    ...['/console/apps/a/\u2028', '/console/apps/a/ü', '/console/apps/a#//evil', `/console/apps/a/${'x'.repeat(2048)}`],
  ])('is nothing when it is %j', next => {
    expect(checkNext(next)).toBeUndefined()
    expect(nextOf(new URLSearchParams({ next }).toString())).toBeUndefined()
  })

  it('is nothing when there are two, or none', () => {
    expect(nextOf('next=/console/apps/a/&next=/console/apps/a/')).toBeUndefined()
    expect([nextOf(''), nextOf('x=1'), checkNext(null)]).toEqual([undefined, undefined, undefined])
  })
})
