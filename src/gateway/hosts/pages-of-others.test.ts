import { describe, expect, it } from 'vitest'
import { siteOf } from '../policy/site.ts'
import { isOfOtherPage, isTopLevel } from './pages-of-others.ts'

const site = siteOf('https://good.apps.example.net')
const sibling = 'https://evil.apps.example.net'
const asked = (method: string, headers: Readonly<Record<string, string>>) => isOfOtherPage({ method, headers }, site)
const fetched = (from: string, mode: string, dest: string) => ({
  ...{ 'sec-fetch-site': from, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest },
})

describe('isOfOtherPage', () => {
  it.each<[string, string, Record<string, string>]>([
    ['a program', 'POST', {}],
    ['a form of the app', 'POST', { origin: site.origin, ...fetched('same-origin', 'navigate', 'document') }],
    [
      'a form of an app without referrers',
      'POST',
      { origin: 'null', ...fetched('same-origin', 'navigate', 'document') },
    ],
    ['a script of the app', 'GET', fetched('same-origin', 'cors', 'empty')],
    ['a frame of the app in itself', 'GET', fetched('same-origin', 'navigate', 'iframe')],
    ['an address that somebody types', 'GET', fetched('none', 'navigate', 'document')],
    ['a link of another site', 'GET', fetched('cross-site', 'navigate', 'document')],
    [
      'a look ahead of the app',
      'GET',
      { ...fetched('same-origin', 'navigate', 'document'), 'sec-purpose': 'prefetch' },
    ],
    [
      'a look ahead of the browser',
      'GET',
      { ...fetched('none', 'navigate', 'document'), 'sec-purpose': 'prefetch;prerender' },
    ],
    ['a link of a sibling', 'HEAD', fetched('same-site', 'navigate', 'document')],
    ['an old browser', 'POST', { origin: site.origin }],
  ])('lets %s pass', (_, method, headers) => {
    expect(asked(method, headers)).toBe(false)
  })

  it.each<[string, string, Record<string, string>]>([
    ['a form of a sibling', 'POST', { origin: sibling, ...fetched('same-site', 'navigate', 'document') }],
    ['a form of a sibling without an Origin', 'POST', fetched('same-site', 'navigate', 'document')],
    ['a form of nobody', 'POST', { origin: 'null', ...fetched('cross-site', 'navigate', 'document') }],
    ['a form of nobody in an old browser', 'POST', { origin: 'null' }],
    [
      'a form of a sibling without referrers',
      'POST',
      { origin: 'null', ...fetched('same-site', 'navigate', 'document') },
    ],
    [
      'a form of a sibling, said to be of the app',
      'POST',
      { origin: sibling, ...fetched('same-origin', 'cors', 'empty') },
    ],
    [
      'a look ahead of a sibling',
      'GET',
      { ...fetched('same-site', 'navigate', 'document'), 'sec-purpose': 'prefetch' },
    ],
    [
      'a look ahead of another site',
      'GET',
      { ...fetched('cross-site', 'navigate', 'document'), 'sec-purpose': 'prefetch;prerender' },
    ],
    ['a form of the platform', 'POST', { origin: 'https://platform.example.org' }],
    ['a script of a sibling', 'GET', { origin: sibling, ...fetched('same-site', 'cors', 'empty') }],
    ['an image of a sibling', 'GET', fetched('same-site', 'no-cors', 'image')],
    ['a script of another site', 'GET', fetched('cross-site', 'no-cors', 'script')],
    ['a frame of a sibling', 'GET', fetched('same-site', 'navigate', 'iframe')],
    ['a frame by another site', 'GET', fetched('cross-site', 'navigate', 'iframe')],
    ['an object of a sibling', 'GET', fetched('same-site', 'navigate', 'object')],
    ['a form of a sibling in an old browser', 'POST', { origin: sibling }],
    ['an origin that is no better by its end', 'POST', { origin: `${site.origin}.evil.org` }],
  ])('stops %s', (_, method, headers) => {
    expect(asked(method, headers)).toBe(true)
  })
})

describe('isTopLevel', () => {
  it.each<[boolean | undefined, string, Record<string, string>]>([
    [undefined, 'GET', {}],
    [true, 'GET', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    [false, 'POST', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }],
    [false, 'GET', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
    [false, 'GET', { 'sec-fetch-mode': 'navigate' }],
    [false, 'GET', { 'sec-purpose': 'prefetch', ...fetched('same-site', 'navigate', 'document') }],
    [true, 'GET', { 'sec-purpose': 'prefetch', ...fetched('none', 'navigate', 'document') }],
    [false, 'GET', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'empty' }],
  ])('is %s for %s with %j', (is, method, headers) => {
    expect(isTopLevel({ method, headers })).toBe(is)
  })
})
