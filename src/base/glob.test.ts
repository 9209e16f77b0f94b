import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { globs } from './glob.ts'

/** The regular expression of a pattern: correct, but without a bound on time. */
function meant(pattern: string, flags: string): RegExp {
  const parts = pattern.split('*').map(part => part.replace(/[\\^$.|?+()[\]{}]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`, flags)
}

const letters = fc.constantFrom('a', 'B', '_', '.', '\n')
const texts = fc.array(letters, { maxLength: 12 }).map(parts => parts.join(''))
const patterns = fc.array(fc.oneof(letters, fc.constant('*')), { maxLength: 8 }).map(parts => parts.join(''))

describe('globs', () => {
  it('matches as the regular expression of the pattern does', () => {
    fc.assert(
      fc.property(patterns, texts, (pattern, text) => {
        expect(globs()([pattern])(text)).toBe(meant(pattern, 's').test(text))
        expect(globs({ ignoreCase: true })([pattern])(text)).toBe(meant(pattern, 'is').test(text))
      }),
      { numRuns: 5000 },
    )
  })

  it.each([
    ['*_TOKEN', 'MY_TOKEN', true],
    ['*_TOKEN', '_TOKEN', true],
    ['*_TOKEN', 'MY_TOKEN_', false],
    ['ab*ba', 'aba', false],
    ['ab*ba', 'abba', true],
    ['a*b*a', 'aba', true],
    ['**', '', true],
    ['', '', true],
    ['', 'a', false],
  ])('compares %s with %s: %s', (pattern, text, isLike) => {
    expect(globs()([pattern])(text)).toBe(isLike)
  })

  it('searches each part of a pattern once, however many stars there are', () => {
    const pattern = `${'*A'.repeat(40)}*C*B`
    const text = `${'A'.repeat(255)}B`
    const indexOf = String.prototype.indexOf
    let looked = 0
    String.prototype.indexOf = function (this: string, ...args: [string, number?]) {
      looked += 1
      return indexOf.apply(this, args)
    }
    try {
      expect(globs()([pattern])(text)).toBe(false)
    } finally {
      String.prototype.indexOf = indexOf
    }
    expect(looked).toBe(41)
  })

  it('matches when one of several patterns does, and nothing when the list is empty', () => {
    expect(globs()(['a*', '*b'])('cb')).toBe(true)
    expect(globs()(['a*', '*b'])('c')).toBe(false)
    expect(globs()([])('c')).toBe(false)
  })
})
