import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ApiError } from '../../base/errors.ts'
import { checkedJson } from './json.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

function refusal(body: Uint8Array, maxDepth = 8, maxJsonItems = 1024): ApiError {
  try {
    checkedJson(body, { maxJsonDepth: maxDepth, maxJsonItems })
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error('it was taken')
}

it('checkedJson returns the text of unambiguous JSON', () => {
  const text = '{"a": {"b": [1, {"b": "\\"b\\": 雪"}], "c": ""}, "b": null, "__proto__": {"a": 1}}'
  expect(checkedJson(bytes(text), { maxJsonDepth: 8, maxJsonItems: 9 })).toBe(text)
})

/** A key in one of its ways to be written, with blanks around. */
const keyText = fc
  .tuple(fc.constantFrom('a', 'b', '{', ',', '\\'), fc.boolean(), fc.constantFrom('', ' ', '\n'))
  .map(([key, isEscaped, blank]) => {
    const code = `\\u${key.charCodeAt(0).toString(16).padStart(4, '0')}`
    return { key, text: `${blank}"${isEscaped ? code : JSON.stringify(key).slice(1, -1)}"${blank}` }
  })
const { value: jsonText } = fc.letrec<{ value: { text: string; isRepeated: boolean } }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom('1', '""', '"a"', '"a,b"', '"{"', 'null').map(text => ({ text, isRepeated: false })),
    fc.array(tie('value'), { maxLength: 3 }).map(values => ({
      text: `[${values.map(({ text }) => text).join(' , ')}]`,
      isRepeated: values.some(({ isRepeated }) => isRepeated),
    })),
    fc.array(fc.tuple(keyText, tie('value')), { maxLength: 4 }).map(entries => ({
      text: `{${entries.map(([{ text }, value]) => `${text}:${value.text}`).join(',')}}`,
      isRepeated:
        new Set(entries.map(([{ key }]) => key)).size < entries.length || entries.some(([, value]) => value.isRepeated),
    })),
  ),
}))

it('checkedJson refuses exactly the texts in which an object repeats a key', () => {
  fc.assert(
    fc.property(jsonText, ({ text, isRepeated }) => {
      const check = () => checkedJson(bytes(text), { maxJsonDepth: 9, maxJsonItems: 999 })
      if (isRepeated) expect(refusal(bytes(text), 9, 999).detail[0]).toMatchObject({ type: 'duplicate_key' })
      else expect(check()).toBe(text)
    }),
  )
})

describe('checkedJson refuses', () => {
  it.each([
    ['nothing', bytes('')],
    ['half of it', bytes('{"a": ')],
    ['more than one', bytes('{} {}')],
    ['a comment', bytes('{} // x')],
    ['a comma too many', bytes('{"a": 1,}')],
    ['a number that is none', bytes('{"a": NaN}')],
    ['a byte order mark', bytes('\ufeff{}')],
    ['UTF-16', new Uint8Array(Buffer.from('{}', 'utf16le'))],
    ['a byte that is no UTF-8', new Uint8Array(Buffer.from('{"a": "\xff"}', 'latin1'))],
    ['an overlong form', new Uint8Array(Buffer.from('{"a": "\xc0\xaf"}', 'latin1'))],
    ['half a surrogate pair', new Uint8Array(Buffer.from('{"a": "\xed\xa0\x80"}', 'latin1'))],
  ])('%s, as malformed', (_, body) => {
    expect(refusal(body)).toMatchObject({ status: 400, detail: [{ type: 'malformed', loc: ['body'] }] })
  })

  it.each([
    ['{"a": 1, "a": 1}', ['body', 'a']],
    ['{"a": {"b": [{}, {"c": 1, "d": 2, "c": 3}]}}', ['body', 'a', 'b', 1, 'c']],
    ['{"a": 1, "\\u0061": 2}', ['body', 'a']],
    ['{"__proto__": 1, "__proto__": 2}', ['body', '__proto__']],
  ])('a repeated key: %s', (text, loc) => {
    expect(refusal(bytes(text))).toMatchObject({ status: 422, detail: [{ type: 'duplicate_key', loc }] })
  })

  it.each([
    ['{"a": {"b": ["x", "\\ud800"]}}', ['body', 'a', 'b', 1]],
    ['{"a": {"\\udc00": 1}}', ['body', 'a']],
  ])('half a character: %s', (text, loc) => {
    expect(refusal(bytes(text))).toMatchObject({ status: 422, detail: [{ type: 'invalid', loc }] })
  })

  it('a value deeper than the limit, however deep', () => {
    expect(() => checkedJson(bytes('[[{"a": 1}]]'), { maxJsonDepth: 3, maxJsonItems: 9 })).not.toThrow()
    expect(refusal(bytes('[[{"a": []}]]'), 3)).toMatchObject({ status: 422, detail: [{ type: 'too_deep' }] })
    const [opened, closed] = ['['.repeat(500_000), ']'.repeat(500_000)]
    expect(refusal(bytes(opened + closed))).toMatchObject({ status: 422 })
    // Depth is checked before parsing, so a missing end is not noticed.
    expect(refusal(bytes(opened))).toMatchObject({ status: 422 })
    expect(refusal(bytes('[[{"a": []}]'), 4)).toMatchObject({ status: 400 })
  })

  it.each([
    ['{"a": 1, "b": 2, "c": 3, "d": 4}'],
    ['[1, 2, 3, 4]'],
    ['[[[[[]]]]]'],
    ['{"a": {"b": {"c": {"d": ",,,,"}}}}'],
  ])('more properties and elements than the limit: %s', text => {
    const loc = ['body']
    expect(refusal(bytes(text), 8, 3)).toMatchObject({ status: 422, detail: [{ type: 'too_large', loc }] })
    expect(() => checkedJson(bytes(text), { maxJsonDepth: 8, maxJsonItems: 4 })).not.toThrow()
  })

  it('too many values before it parses any: the rest of the text is not JSON', () => {
    const text = `[${'1,'.repeat(4)} no JSON`
    expect(refusal(bytes(text), 8, 3)).toMatchObject({ status: 422, detail: [{ type: 'too_large' }] })
    expect(refusal(bytes(text), 8, 4)).toMatchObject({ status: 400 })
  })

  it.each(['{}', '[]'])('too many objects and lists without a comma before it parses any: %s', pair => {
    const text = pair.repeat(5)
    expect(refusal(bytes(text), 8, 3)).toMatchObject({ status: 422, detail: [{ type: 'too_large' }] })
    expect(refusal(bytes(text), 8, 4)).toMatchObject({ status: 400 })
  })

  it('no commas within strings, however they are escaped', () => {
    const text = '{"a,\\",,": ",,\\\\", "b": ",\\u002c,"}'
    expect(() => checkedJson(bytes(text), { maxJsonDepth: 8, maxJsonItems: 2 })).not.toThrow()
  })
})
