import { describe, expect, it } from 'vitest'
import { nextLink, parseChallenges, retryAfterMs } from './headers.ts'

describe('parseChallenges', () => {
  const plain = (header: string) =>
    parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)])

  it.each<[string, unknown]>([
    ['Basic realm="x"', [['basic', { realm: 'x' }]]],
    [
      'Bearer realm="https://a.example/token?b=c",service="r",scope="repository:a/b:pull,push"',
      [['bearer', { realm: 'https://a.example/token?b=c', service: 'r', scope: 'repository:a/b:pull,push' }]],
    ],
    [
      'Basic realm="a, Bearer realm=\\"b\\"" , BEARER Realm = c , Scope="d e"',
      [
        ['basic', { realm: 'a, Bearer realm="b"' }],
        ['bearer', { realm: 'c', scope: 'd e' }],
      ],
    ],
    [
      'Negotiate, Basic realm=x',
      [
        ['negotiate', {}],
        ['basic', { realm: 'x' }],
      ],
    ],
    ['Bearer realm="a",realm="b"', [['bearer', { realm: 'a' }]]],
    ['Bearer realm=""', [['bearer', { realm: '' }]]],
    ['', []],
    ['realm="x"', []],
    [',;="', []],
  ])('reads %s', (header, expected) => {
    expect(plain(header)).toEqual(expected)
  })

  it('finds a challenge after one with data of its own', () => {
    expect(plain('Negotiate YWJj==, Basic realm="x"').at(-1)).toEqual(['basic', { realm: 'x' }])
  })

  it('ignores a realm whose quote does not end', () => {
    expect(plain('Bearer realm="x').every(([, parameters]) => Object.keys(parameters as object).length === 0)).toBe(
      true,
    )
  })
})

describe('nextLink', () => {
  it.each<[string, string | undefined]>([
    ['</v2/a/tags/list?last=b&n=2>; rel="next"', '/v2/a/tags/list?last=b&n=2'],
    ['<https://r.example/x>; rel=next', 'https://r.example/x'],
    ['</a>; rel="prev", </b>; title="c, <d>; rel=next"; rel="last Next"', '/b'],
    ['</a>;rel=prev,</b>;rel=next', '/b'],
    ['</a>; rel="nextish"', undefined],
    ['</a>; title=next', undefined],
    ['</a>', undefined],
    ['', undefined],
  ])('reads %s', (header, expected) => {
    expect(nextLink(header)).toBe(expected)
  })
})

it('nextLink takes linear time, whatever the header contains', () => {
  // If addresses could contain <, this would take seconds.
  const begunMs = performance.now()
  for (const part of ['<', '<a>;', '<a>; a="', '; rel=']) expect(nextLink(part.repeat(65_536))).toBeUndefined()
  expect(performance.now() - begunMs).toBeLessThan(1000)
})

describe('retryAfterMs', () => {
  const nowMs = Date.parse('2026-11-22T10:00:00Z')

  it.each<[string, number | undefined]>([
    ['7', 7000],
    ['0', 0],
    ['Sun, 22 Nov 2026 10:00:05 GMT', 5000],
    ['Sun, 22 Nov 2026 09:00:00 GMT', 0],
    ['soon', undefined],
    ['', undefined],
  ])('reads %s', (header, expected) => {
    expect(retryAfterMs(header, nowMs)).toBe(expected)
  })
})
