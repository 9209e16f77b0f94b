import { expect, test } from 'vitest'
import { jsonOf } from './output.ts'

test('jsonOf writes what a terminal would obey as JSON does, and keeps its own line breaks', () => {
  const value = { name: 'a\u009b31m\u202eb\u2028c\u{e0001}\n' }
  const text = jsonOf(value, 2)
  expect(text).toBe('{\n  "name": "a\\u009b31m\\u202eb\\u2028c\\udb40\\udc01\\n"\n}\n')
  expect(JSON.parse(text)).toEqual(value)
})
