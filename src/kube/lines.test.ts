import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineSplitter } from './lines.ts'

/** The lines of bytes that come in chunks of these sizes, and the rest in one. */
function read(bytes: Buffer, sizes: readonly number[]): string[] {
  const all: string[] = []
  const take = lineSplitter(line => void all.push(line.toString()))
  let start = 0
  for (const size of sizes) {
    take(bytes.subarray(start, start + size))
    start += size
  }
  take(bytes.subarray(start))
  return all
}

test('lineSplitter returns the same lines however the bytes are split', () => {
  const text = fc.string({ unit: 'grapheme' }).map(line => line.replaceAll('\n', ''))
  fc.assert(
    fc.property(fc.array(text), fc.array(fc.nat(9)), (expected, sizes) => {
      const bytes = Buffer.from(expected.map(line => `${line}\n`).join(''))
      expect(read(bytes, sizes)).toEqual(expected)
    }),
  )
})

test('lineSplitter drops an incomplete last line', () => {
  expect(read(Buffer.from('whole\nhal'), [2])).toEqual(['whole'])
})
