/** Conformance reports every deviation from the document. All tests that call the API rely on it. */
import { describe, expect, it } from 'vitest'
import type { Exchange } from './conformance.ts'
import { conformanceOf, prefix } from './scripted-api.ts'

const conformance = conformanceOf()
const error = (type: string, more = {}) => JSON.stringify({ detail: [{ msg: 'words', type, ...more }] })
const id = { 'X-Request-ID': 'one' }
const json = { ...id, 'Content-Type': 'application/json' }

/** A list of users; each test changes it. */
function exchange(change: Partial<Omit<Exchange, 'headers'>> & { headers?: Record<string, string> } = {}): Exchange {
  const { headers = json, ...rest } = change
  return { method: 'GET', path: `${prefix}/labs`, status: 200, text: '["ada"]', ...rest, headers: new Headers(headers) }
}

const missing = { status: 404, text: error('not_found') }
const wrongMethod = { method: 'PUT', status: 405, text: error('method_not_allowed') }

describe('Conformance with documented answers', () => {
  it.each([
    ['a success', {}],
    ['an error', { status: 403, text: error('scope_missing') }],
    ['a header', { status: 401, text: error('unauthorized'), headers: { ...json, 'WWW-Authenticate': 'Bearer' } }],
    ['no body', { method: 'DELETE', path: `${prefix}/labs/ada`, status: 202, text: '', headers: id }],
    ['HEAD', { method: 'HEAD', text: '' }],
    ['an unknown path', { ...missing, path: '/nothing' }],
    ['a method that is not there', { ...wrongMethod, headers: { ...json, Allow: 'GET, HEAD' } }],
    ['a query', { path: `${prefix}/labs?x=1` }],
  ])('passes: %s', (_, change) => conformance.check(exchange(change)))
})

describe('Conformance with undocumented answers', () => {
  it.each([
    ['a status', { status: 418 }, /418, which the document does not know/],
    ['a body of another form', { text: '{"users": []}' }, /must be array/],
    ['an error of another form', { status: 403, text: '{"detail": "no"}' }, /must be array/],
    ['a field more', { status: 403, text: error('scope_missing', { stack: 'at' }) }, /additional properties/],
    ['a type of error', { status: 403, text: error('other') }, /no example has the type other/],
    ['another kind of content', { headers: { ...id, 'Content-Type': 'text/html' } }, /content type text\/html/],
    ['no kind of content', { headers: id, text: '' }, /content type undefined/],
    ['a header more', { headers: { ...json, 'X-Powered-By': 'x' } }, /x-powered-by is not documented/],
    ['a header less', { headers: { 'Content-Type': 'application/json' } }, /X-Request-ID is missing/],
    ['a header of another form', { headers: { ...json, 'X-Request-ID': 'a b' } }, /x-request-id: it must match/],
    ['a body where there is none', { method: 'DELETE', path: `${prefix}/labs/ada`, status: 202 }, /none is documented/],
    ['a body of HEAD', { method: 'HEAD' }, /HEAD has a body/],
    ['an unknown path that is answered', { path: '/nothing' }, /where the document says 404/],
    ['a method that is not there, answered', { method: 'PUT' }, /Allow/],
    ['methods that are not there', { ...wrongMethod, headers: { ...json, Allow: 'GET, HEAD, PUT' } }, /PUT/],
  ])('reports: %s', (_, change, words) => expect(() => conformance.check(exchange(change))).toThrow(words))
})
