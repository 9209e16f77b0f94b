import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { patchTo, selected, valueAt, withValueAt } from './merge.ts'
import { mergePatched } from './testing/merge-patch.ts'

const name = fc.constantFrom('a', 'b', 'c', 'limits', 'labels', '__proto__')
const leaf = fc.constantFrom<unknown>('x', 'y', 1, 0, true, false, '1000m', '1')
/** JSON without null, as wishes are. */
const { value, object } = fc.letrec<{ value: unknown; object: object }>(tie => ({
  value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value'), { maxLength: 3 }), tie('object')),
  object: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}))

const applied = (live: unknown, patch: unknown) => (patch === undefined ? live : mergePatched(live, patch))

describe('patchTo', () => {
  test('leads to an object from which nothing differs any more', () => {
    fc.assert(
      fc.property(object, object, object, (wanted, live, last) => {
        const after = applied(live, patchTo(wanted, live, last))
        expect(patchTo(wanted, after, last)).toBeUndefined()
        expect(patchTo(wanted, after, wanted)).toBeUndefined()
      }),
    )
  })

  test('removes a field that is null, and finds nothing where it is absent', () => {
    expect(patchTo({ a: null }, { a: 1, b: 2 }, {})).toEqual({ a: null })
    expect(patchTo({ a: null }, { b: 2 }, {})).toBeUndefined()
  })

  test('leads to the wish itself when all that exists is ours', () => {
    fc.assert(
      fc.property(object, object, (wanted, live) => {
        const after = applied(live, patchTo(wanted, live, live))
        expect(patchTo(wanted, after, after)).toBeUndefined()
        expect(patchTo(after, wanted, wanted)).toBeUndefined()
      }),
    )
  })

  test('finds nothing to do for what is as wished', () => {
    fc.assert(fc.property(value, value, (wanted, last) => patchTo(wanted, wanted, last) === undefined))
  })

  test('leaves fields alone that neither this wish nor the last one has', () => {
    fc.assert(
      fc.property(object, object, object, (wanted, live, last) => {
        const after = applied({ ...live, theirs: 1 }, patchTo(wanted, { ...live, theirs: 1 }, last))
        expect(valueAt(after, ['theirs'])).toBe(1)
      }),
    )
  })

  test.each<[string, object, object, object, unknown]>([
    ['a default of the server', { a: 1 }, { a: 1, b: 2 }, {}, undefined],
    ['a field that is not wanted any more', { a: 1 }, { a: 1, b: 2 }, { a: 1, b: 2 }, { b: null }],
    ['defaults within a list', { l: [{ a: 1 }] }, { l: [{ a: 1, b: 2 }] }, {}, undefined],
    ['an element not wanted any more', { l: [1] }, { l: [1, 2] }, {}, { l: [1] }],
    [
      'a field in a list not wanted any more',
      { l: [{ a: 1 }] },
      { l: [{ a: 1, b: 2 }] },
      { l: [{ b: 2 }] },
      { l: [{ a: 1 }] },
    ],
    ['another type', { a: { b: 1 } }, { a: 'x' }, {}, { a: { b: 1 } }],
    ['an empty map that is lacking', { a: {} }, {}, {}, { a: {} }],
  ])('judges %s', (_what, wanted, live, last, patch) => {
    expect(patchTo(wanted, live, last)).toEqual(patch)
  })

  test.each<[string, object, object, boolean]>([
    ['limits', { limits: { cpu: '1000m', memory: '1Gi' } }, { limits: { cpu: '1', memory: '1024Mi' } }, true],
    ['a quota', { spec: { hard: { 'requests.cpu': 8 } } }, { spec: { hard: { 'requests.cpu': '8' } } }, true],
    ['the size of a volume', { emptyDir: { sizeLimit: '1Gi' } }, { emptyDir: { sizeLimit: '1024Mi' } }, true],
    ['other limits', { limits: { cpu: '1' } }, { limits: { cpu: '2' } }, false],
    ['a label', { labels: { sizeLimit: '1Gi' } }, { labels: { sizeLimit: '1024Mi' } }, false],
    ['a label called limits', { labels: { limits: '1' } }, { labels: { limits: '1000m' } }, false],
    ['a text', { image: '1' }, { image: '1000m' }, false],
  ])('compares %s', (_what, wanted, live, isSame) => {
    expect(patchTo(wanted, live, {}) === undefined).toBe(isSame)
  })
})

test('selected keeps only the paths', () => {
  const object = { spec: { a: 1, b: 2 }, metadata: { labels: { x: 'y', z: 'w' } } }
  const paths = [['spec', 'b'], ['metadata', 'labels', 'x'], ['none']]
  expect(selected(object, paths)).toEqual({ spec: { b: 2 }, metadata: { labels: { x: 'y' } } })
})

test('withValueAt changes one value, in lists too', () => {
  const object = { rules: [{ verbs: ['get'] }, { verbs: ['list'] }] }
  const changed = withValueAt(object, ['rules', '1', 'verbs'], [])
  expect(changed).toEqual({ rules: [{ verbs: ['get'] }, { verbs: [] }] })
  expect(object.rules[1]!.verbs).toEqual(['list'])
})
