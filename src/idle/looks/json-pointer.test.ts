import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { MalformedAnswer } from './evidence.ts'
import { isPointer, readJsonValue, valueAt } from './json-pointer.ts'

const date = 'Thu, 14 Aug 2025 03:25:26 GMT'
const nowMs = Date.parse(date)
const read = (value: unknown, as: 'counter' | 'timestamp', previous?: number) =>
  readJsonValue({ body: JSON.stringify({ value }), date }, { pointer: '/value', as }, previous)

/** The document of RFC 6901, section 5. */
const document = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
}

describe('valueAt', () => {
  test.each<[string, unknown]>([
    ['', document],
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/c%d', 2],
    ['/e^f', 3],
    ['/g|h', 4],
    ['/i\\j', 5],
    ['/k"l', 6],
    ['/ ', 7],
    ['/m~0n', 8],
  ])('finds the value at "%s"', (pointer, value) => {
    expect(valueAt(document, pointer)).toEqual(value)
  })

  test.each(['/bar', '/foo/2', '/foo/-', '/foo/00', '/foo/length', '/foo/0/0', '/toString', '/__proto__', '//'])(
    'finds nothing at "%s"',
    pointer => {
      expect(() => valueAt(document, pointer)).toThrow(new MalformedAnswer(`its answer has no value at ${pointer}`))
    },
  )

  test('finds every value of a document at its own pointer', () => {
    const escaped = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1')
    const visit = (value: unknown, pointer: string, root: unknown): void => {
      expect(isPointer(pointer)).toBe(true)
      expect(valueAt(root, pointer)).toBe(value)
      if (typeof value !== 'object' || value === null) return
      for (const [name, child] of Object.entries(value)) visit(child, `${pointer}/${escaped(name)}`, root)
    }
    fc.assert(
      fc.property(fc.jsonValue(), root => {
        visit(root, '', root)
      }),
    )
  })
})

describe('isPointer', () => {
  test.each(['a', 'a/b', '/~', '/~2', '/a~', '#/a'])('is false for "%s"', text => {
    expect(isPointer(text)).toBe(false)
  })
})

describe('readJsonValue of a timestamp', () => {
  test.each<[unknown, number | undefined]>([
    [nowMs - 5000, 5000],
    [nowMs / 1000 - 5, 5000],
    ['2025-08-14T03:25:21Z', 5000],
    [nowMs + 60_000, 0],
    // code-server says 0 before its first heartbeat.
    [0, undefined],
  ])('reads %j', (value, ageMs) => {
    expect(read(value, 'timestamp')).toEqual({ busy: false, ageMs })
  })

  test.each([-1, 1e300, null, true, '', 'yesterday', String(nowMs), [], {}])('refuses %j', value => {
    expect(() => read(value, 'timestamp')).toThrow(MalformedAnswer)
  })
})

describe('readJsonValue of a counter', () => {
  test('shows growth since the reading before', () => {
    expect(read(7, 'counter')).toEqual({ busy: false, ageMs: undefined, reading: 7 })
    expect(read(8, 'counter', 7)).toEqual({ busy: false, ageMs: 0, reading: 8 })
    expect(read(1, 'counter', 7)).toEqual({ busy: false, ageMs: undefined, reading: 1 })
  })

  test.each([-1, null, true, '7', []])('refuses %j', value => {
    expect(() => read(value, 'counter', 1)).toThrow(MalformedAnswer)
  })
})
