import { describe, expect, it } from 'vitest'
import { bytesInWords, capitalized, resourcesInWords } from './words.ts'

const gibibyte = 2 ** 30

describe('resourcesInWords and bytesInWords', () => {
  it.each([
    [{ cpu: 1, memory: 4 * gibibyte }, '1 CPU and 4 GiB'],
    [{ cpu: 0.25, memory: gibibyte / 2 }, '0.25 CPUs and 512 MiB'],
    [{ cpu: 4, memory: 1.5 * gibibyte }, '4 CPUs and 1.5 GiB'],
  ])('%j becomes %s', (resources, words) => {
    expect(resourcesInWords(resources)).toBe(words)
  })

  it.each([
    [12e9, '11.18 GiB'],
    [1024 * gibibyte, '1024 GiB'],
    [2 ** 20, '1 MiB'],
  ])('%i bytes become %s', (bytes, words) => {
    expect(bytesInWords(bytes)).toBe(words)
  })
})

it('capitalized makes the first letter a capital', () => {
  expect(['small', 'x-large', ''].map(capitalized)).toEqual(['Small', 'X-large', ''])
})
