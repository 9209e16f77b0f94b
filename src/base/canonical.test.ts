import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonical } from './canonical.ts'

/** Without what JSON does not know, such as -0. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Names that objects of JavaScript order, or treat, otherwise than others. */
const name = fc.oneof(
  fc.string(),
  fc.constantFrom('__proto__', 'constructor', 'toString', '10', '9', '1', 'é', '\ud800'),
)

describe('canonical', () => {
  it('gives equal texts to equal values alone', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [a, b] = [asJson(one), asJson(other)]
        expect(JSON.parse(canonical(a))).toEqual(a)
        expect(canonical(a) === canonical(b)).toBe(isDeepStrictEqual(a, b))
      }),
    )
  })

  it('gives one text whatever the order of the fields', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.jsonValue())), entries => {
        const object = Object.fromEntries(entries)
        const reversed = Object.fromEntries(Object.entries(object).reverse())
        expect(canonical({ in: [reversed] })).toBe(canonical({ in: [object] }))
        expect(JSON.parse(canonical(object))).toEqual(asJson(object))
      }),
    )
  })

  it('leaves out a field that is undefined, and has null for an element and for nothing', () => {
    expect(canonical({ b: undefined, a: [undefined] })).toBe('{"a":[null]}')
    expect(canonical(undefined)).toBe('null')
  })

  it('throws when a value contains itself', () => {
    const loop: { self?: unknown } = {}
    loop.self = loop
    expect(() => canonical(loop)).toThrow()
  })
})
