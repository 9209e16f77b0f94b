import { describe, expect, it } from 'vitest'
import { exampleRoute, exampleSite } from '../../../test/kit/gateway/routes.ts'
import type { AppRoute } from '../../base/app-route.ts'
import { publicLocation, publicRefresh } from './locations.ts'

const seen = (location: string, route: Partial<AppRoute> = {}) =>
  publicLocation(location, exampleRoute(route), exampleSite)
const { origin } = exampleSite
const prefix = '/console/apps/mlflow-x'

describe('publicLocation', () => {
  it.each([
    [`http://app-mlflow-x.hub:5000${prefix}/a?b#c`, `${origin}${prefix}/a?b#c`],
    [`https://APP-mlflow-x.HUB:5000${prefix}/`, `${origin}${prefix}/`],
    [`//app-mlflow-x.hub:5000${prefix}/`, `${origin}${prefix}/`],
    ['http://10.96.0.7:5000/a', `${origin}/a`],
    ['http://app-mlflow-x.hub:5000', `${origin}/`],
    ['http://app-mlflow-x.hub:5000?a', `${origin}/?a`],
    ['http://app-mlflow-x.hub:5000//evil', `${origin}//evil`],
  ])('of %s is ours', (location, expected) => {
    expect(seen(location)).toBe(expected)
  })

  it.each([
    `${prefix}/a`,
    '/elsewhere',
    'a/b',
    '../b',
    '?x',
    '#y',
    '',
    'https://example.org/a',
    '//example.org/a',
    'http://app-mlflow-x.hub:5001/a',
    'http://app-mlflow-x.hub/a',
    'http://app-other.hub:5000/a',
    'http://xapp-mlflow-x.hub:5000/a',
    'http://ada@app-mlflow-x.hub:5000/a',
    'http://app-mlflow-x.hub:5000@evil/a',
    'http://10.96.0.77:5000/a',
    `http://platform.example.org${prefix}/`,
    'mailto:ada@example.org',
    'javascript:x',
  ])('leaves %j as it is', location => {
    expect(seen(location)).toBe(location)
  })

  it('knows an app without the port of plain HTTP, and one at an IPv6 address', () => {
    const plain = { host: 'app-mlflow-x.hub:80', address: { ip: 'fd00::7', port: 80 } }
    const all = [
      'http://app-mlflow-x.hub/a',
      'http://app-mlflow-x.hub:80/a',
      'http://[fd00::7]/a',
      'http://[fd00::7]:80/a',
    ]
    expect(all.map(each => seen(each, plain))).toEqual(all.map(() => `${origin}/a`))
    expect(seen('http://fd00::7/a', plain)).toBe('http://fd00::7/a')
    expect(seen('http://10.96.0.7:5000/a', { address: undefined })).toBe('http://10.96.0.7:5000/a')
  })

  it('knows the public host as that of an app that sees it', () => {
    expect(seen('http://platform.example.org/a', { passHost: true })).toBe(`${origin}/a`)
    expect(seen('http://platform.example.org/a', { passHost: true, rewrite: true })).toBe(`${origin}${prefix}/a`)
  })

  it.each([
    ['/a?b', `${prefix}/a?b`],
    ['/', `${prefix}/`],
    ['//example.org/a', '//example.org/a'],
    ['/\\example.org/a', `${prefix}/\\example.org/a`],
    [`${prefix}/a`, `${prefix}/a`],
    [prefix, prefix],
    [`${prefix}y`, `${prefix}${prefix}y`],
    ['a/b', 'a/b'],
    ['http://app-mlflow-x.hub:5000/a', `${origin}${prefix}/a`],
    ['http://app-mlflow-x.hub:5000', `${origin}${prefix}/`],
    ['http://app-mlflow-x.hub:5000//evil', `${origin}${prefix}//evil`],
    ['https://example.org/a', 'https://example.org/a'],
  ])('of %s is %s with rewrite', (location, expected) => {
    expect(seen(location, { rewrite: true })).toBe(expected)
  })
})

describe('publicRefresh', () => {
  it.each([
    ['5', '5'],
    ['5; url=/a', `5; url=${prefix}/a`],
    ["0;URL='/a'", `0;URL='${prefix}/a'`],
    ['1.5 , url = "http://app-mlflow-x.hub:5000/a"', `1.5 , url = "${origin}${prefix}/a"`],
    ['3; /a', `3; ${prefix}/a`],
    ['3; url=https://example.org', '3; url=https://example.org'],
    ['x', 'x'],
    ['', ''],
  ])('of %j is %j', (value, expected) => {
    expect(publicRefresh(value, exampleRoute({ rewrite: true }), exampleSite)).toBe(expected)
  })
})
