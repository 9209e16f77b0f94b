import { expect, test } from 'vitest'
import { briefly, KubeError } from './errors.ts'

const refusal = (message: string) => new KubeError(422, 'Invalid', message)

test('briefly leaves long quotations out, and keeps why the server refused', () => {
  const words = `spec.image: Invalid value: "${'x'.repeat(400_000)}": must be no more than 253 characters`
  expect(briefly(refusal(words))).toBe(
    'spec.image: Invalid value: "…(400000 characters)": must be no more than 253 characters',
  )
})

test('briefly keeps short quotations, and those with quotation marks in them', () => {
  for (const words of ['pods "a" is forbidden', 'value: "a\\"b\\\\": no', 'an open "quotation']) {
    expect(briefly(refusal(words))).toBe(words)
  }
  expect(briefly(refusal(`"${'\\"'.repeat(100)}": no, "a"`))).toBe('"…(200 characters)": no, "a"')
  expect(briefly(refusal(`no "${'x'.repeat(100)}`))).toBe('no "…(100 characters)"')
})

test('briefly has the beginning and the end of long words', () => {
  const words = briefly(refusal(`begin ${'x'.repeat(5_000)} end`))
  expect([words.length, words.slice(0, 7), words.slice(-5)]).toEqual([1_000, 'begin x', 'x end'])
})

test('briefly quotes nothing of a Secret', () => {
  expect(briefly(refusal('data.x: Invalid value: "c2VjcmV0"'), 'Secret')).toBe('422 Invalid')
  expect(briefly(new Error('c2VjcmV0'), 'Secret')).toBe('Error')
})

test('briefly takes time by the length of the words only', () => {
  const hostile = `"${'\\"'.repeat(500_000)}`
  const begunMs = performance.now()
  briefly(refusal(hostile))
  expect(performance.now() - begunMs).toBeLessThan(1_000)
})
