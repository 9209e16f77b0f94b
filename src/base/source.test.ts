import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sourceOf, trustIn } from './source.ts'

const ingress = trustIn(['10.244.0.0/16', '192.0.2.1/32', 'fd00::/8'])
const nobody = trustIn([])

describe('sourceOf', () => {
  const cases: [string, string | undefined, string | undefined, object][] = [
    ['a connection alone', '203.0.113.7', undefined, { address: '203.0.113.7' }],
    ['a claim of a stranger', '203.0.113.7', '1.1.1.1', { address: '203.0.113.7', claimed: ['1.1.1.1'] }],
    ['an address of the ingress', '10.244.1.2', '203.0.113.7', { address: '203.0.113.7', proxy: '10.244.1.2' }],
    [
      'an address of the ingress, and those that the ingress received',
      '10.244.1.2',
      '6.6.6.6, 10.244.9.9, 203.0.113.7',
      { address: '203.0.113.7', proxy: '10.244.1.2', claimed: ['10.244.9.9', '6.6.6.6'] },
    ],
    [
      'a chain of known proxies',
      '10.244.1.2',
      '203.0.113.7, 192.0.2.1, fd00::1',
      { address: '203.0.113.7', proxy: '10.244.1.2' },
    ],
    ['known proxies alone', '10.244.1.2', '10.244.1.3', { address: '10.244.1.3', proxy: '10.244.1.2' }],
    [
      'no address from the ingress',
      '10.244.1.2',
      'unknown, 6.6.6.6, _x',
      { address: '10.244.1.2', claimed: ['6.6.6.6'] },
    ],
    ['IPv4 within IPv6', '::ffff:10.244.1.2', '::ffff:203.0.113.7', { address: '203.0.113.7', proxy: '10.244.1.2' }],
    ['ports', '10.244.1.2', '203.0.113.7:4711', { address: '203.0.113.7', proxy: '10.244.1.2' }],
    ['brackets', '10.244.1.2', '[2001:db8::1]:4711', { address: '2001:db8::1', proxy: '10.244.1.2' }],
    ['a zone', '203.0.113.7', 'fe80::1%"}\n', { address: '203.0.113.7' }],
    ['nothing between commas', '203.0.113.7', ' , ,', { address: '203.0.113.7' }],
    ['no connection', undefined, '1.1.1.1', {}],
  ]
  it.each(cases)('reads %s correctly', (_, remote, forwarded, source) => {
    expect(sourceOf(remote, forwarded, ingress)).toEqual(source)
  })

  it('trusts only the connection when no proxy is known', () => {
    expect(sourceOf('10.244.1.2', '203.0.113.7', nobody)).toEqual({ address: '10.244.1.2', claimed: ['203.0.113.7'] })
  })

  it('never trusts an address left of one that is not a known proxy', () => {
    const strangers = fc.constantFrom('203.0.113.7', '2001:db8::7', 'x', '', '999.1.1.1')
    fc.assert(
      fc.property(fc.array(strangers), fc.string(), (left, text) => {
        const { address } = sourceOf('10.244.1.2', [text, '6.6.6.6', ...left, '198.51.100.9'].join(', '), ingress)
        expect(address).toBe('198.51.100.9')
      }),
    )
  })

  it('reads a limited number of addresses', () => {
    const { claimed } = sourceOf('203.0.113.7', Array.from({ length: 5000 }, () => '1.1.1.1').join(), ingress)
    expect(claimed!.length).toBe(16)
  })
})
