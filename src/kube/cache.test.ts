import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyOf, ProjectionCache } from './cache.ts'

const entry = (value: string) => ({ uid: 'u', resourceVersion: '1', value })

test('ProjectionCache holds the latest value by namespace and name, in any order of calls', () => {
  const step = fc.record({
    namespace: fc.constantFrom(undefined, 'a', 'b'),
    name: fc.constantFrom('x', 'y', 'z'),
    value: fc.option(fc.string(), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(step), steps => {
      const cache = new ProjectionCache<string>()
      const model = new Map<string, string>()
      for (const { namespace, name, value } of steps) {
        const key = keyOf(namespace, name)
        if (value === undefined) cache.delete(key)
        else cache.put(key, entry(value))
        if (value === undefined) model.delete(key)
        else model.set(key, value)
      }
      expect(cache.size).toBe(model.size)
      expect([...cache.keys()].sort()).toEqual([...model.keys()].sort())
      expect([...cache.values()].sort()).toEqual([...model.values()].sort())
      for (const [key, value] of model) expect(cache.get(key)?.value).toBe(value)
      const inA = [...model].filter(([key]) => key.startsWith('a/')).map(([, value]) => value)
      expect([...cache.valuesOf('a')].sort()).toEqual(inA.sort())
    }),
  )
})

test('ProjectionCache drops the entry of a full namespace that has been unchanged for longest', () => {
  const cache = new ProjectionCache<string>(2)
  for (const key of ['a/x', 'b/x', 'a/y', 'a/x', 'a/z']) cache.put(key, entry(key))
  expect([...cache.keys()]).toEqual(['a/x', 'a/z', 'b/x'])
  expect(cache.size).toBe(3)
})
