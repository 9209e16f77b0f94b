import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { prefersMinimal } from './prefer.ts'

describe('prefersMinimal', () => {
  it.each([
    'return=minimal',
    'Return = Minimal',
    'respond-async, return=minimal',
    'return=minimal; foo="some, parameter"',
    'return=minimal;;foo; bar=1 , wait=10',
    ',, return=minimal ,',
    'unknown="a \\" quoted, return=representation", return=minimal',
    'return=minimal, return=minimal',
    '\treturn\t=\tminimal\t',
  ])('is true when a client sends %j', header => {
    expect(prefersMinimal(header)).toBe(true)
  })

  it.each([
    '',
    ',',
    'minimal',
    'return',
    'return=',
    'return=representation',
    'return=minimalist',
    'return="minimal"',
    'returns=minimal',
    'x; return=minimal',
    'return=representation, return=minimal',
    'return=minimal, return=representation',
    'return=other, return=minimal',
    'foo="return=minimal"',
    'foo="a\\", return=minimal"',
  ])('is false when a client sends %j', header => {
    expect(prefersMinimal(header)).toBe(false)
  })

  it.each([
    ['a quote that is not closed', 'return=minimal, foo="'],
    ['two tokens without a comma', 'return=minimal foo'],
    ['a character of no token', 'return=minimal, f(o)o'],
    ['a parameter without a name', 'return=minimal; ="x"'],
    ['a control character', 'return=minimal\x01'],
    ['more than 1024 characters', `return=minimal, ${'x'.repeat(1024)}`],
  ])('is false when the header has %s', (_, header) => {
    expect(prefersMinimal(header)).toBe(false)
  })

  it('is false without a header', () => {
    expect(prefersMinimal(undefined)).toBe(false)
  })

  it('never throws, and finds the preference among other well-formed ones', () => {
    const token = fc.stringMatching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,8}$/).filter(name => name !== 'return')
    const text = fc.string({ maxLength: 8 }).filter(it => /^[ !#-[\]-~]*$/.test(it))
    const word = fc.oneof(
      token,
      text.map(it => `"${it}"`),
    )
    const preference = fc
      .tuple(token, word, token, word)
      .map(([name, it, other, its]) => `${name}=${it}; ${other}=${its}`)
    fc.assert(
      fc.property(fc.array(preference, { maxLength: 5 }), before => {
        expect(prefersMinimal([...before, 'return=minimal'].join(', '))).toBe(true)
        expect(prefersMinimal(before.join(', '))).toBe(false)
      }),
    )
    fc.assert(fc.property(fc.string(), header => typeof prefersMinimal(header) === 'boolean'))
  })
})
