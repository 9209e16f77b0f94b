import { describe, expect, it } from 'vitest'
import { answerHeaders, hasBody, headText, requestHeaders, upgradeHeaders } from './framing.ts'

describe('requestHeaders', () => {
  it('keeps names, order and doubles, and drops what holds for one connection', () => {
    const list = [
      'zZ',
      '1',
      'Connection',
      'x',
      'Host',
      'a',
      'Accept',
      'a',
      'TE',
      'trailers',
      'Accept',
      'b',
      'Upgrade',
      'x',
    ]
    expect(requestHeaders(list, { method: 'GET', headers: {} })).toEqual([
      'zZ',
      '1',
      'Host',
      'a',
      'Accept',
      'a',
      'Accept',
      'b',
    ])
  })

  it.each([
    ['GET', {}, []],
    ['DELETE', {}, []],
    ['POST', {}, ['Content-Length', '0']],
    ['PROPFIND', {}, ['Content-Length', '0']],
    ['DELETE', { 'transfer-encoding': 'chunked' }, ['Transfer-Encoding', 'chunked']],
    ['GET', { 'transfer-encoding': 'Chunked' }, ['Transfer-Encoding', 'chunked']],
    ['POST', { 'content-length': '7' }, ['Content-Length', '7']],
    ['POST', { 'content-length': '7', expect: '100-continue' }, ['Content-Length', '7', 'Expect', '100-continue']],
  ])('frames %s with %j', (method, headers, framing) => {
    const list = ['Content-Length', '999', 'Transfer-Encoding', 'nonsense', 'Expect', 'nonsense']
    expect(requestHeaders(list, { method, headers })).toEqual(framing)
  })

  it('frames no coding but chunked', () => {
    expect(requestHeaders([], { method: 'POST', headers: { 'transfer-encoding': 'gzip, chunked' } })).toBeUndefined()
  })
})

it('upgradeHeaders names one protocol and no body', () => {
  const list = [
    'Upgrade',
    'h2c',
    'Connection',
    'HTTP2-Settings',
    'HTTP2-Settings',
    'AAA',
    'Content-Length',
    '3',
    'X',
    '1',
  ]
  expect(upgradeHeaders(list, 'websocket')).toEqual(['X', '1', 'Connection', 'Upgrade', 'Upgrade', 'websocket'])
})

it.each([
  [{}, false],
  [{ 'content-length': '0' }, false],
  [{ 'content-length': '1' }, true],
  [{ 'transfer-encoding': 'chunked' }, true],
])('hasBody of %j is %s', (headers, expected) => {
  expect(hasBody({ headers })).toBe(expected)
})

describe('answerHeaders', () => {
  it('drops what the app names in Connection, but not the length', () => {
    const list = [
      'Connection',
      'close, X-Inner , content-length',
      'X-Inner',
      '1',
      'Content-Length',
      '2',
      'Set-Cookie',
      'a',
    ]
    expect(answerHeaders(200, list)).toEqual(['Content-Length', '2', 'Set-Cookie', 'a'])
  })

  it('keeps the length for 304, and drops it for 204 and 103', () => {
    const list = ['Content-Length', '9']
    expect([304, 204, 103].map(status => answerHeaders(status, list))).toEqual([list, [], []])
  })

  it('takes no coding but chunked', () => {
    expect(answerHeaders(200, ['Transfer-Encoding', 'gzip, chunked'])).toBeUndefined()
    expect(answerHeaders(200, ['Transfer-Encoding', 'CHUNKED'])).toEqual([])
  })
})

it('headText ends a head by an empty line', () => {
  expect(headText('HTTP/1.1 101 X', ['A', '1', 'A', '2'])).toBe('HTTP/1.1 101 X\r\nA: 1\r\nA: 2\r\n\r\n')
})
