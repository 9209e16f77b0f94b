import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lines } from './lines.ts'

async function* cut(bytes: Uint8Array, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}

test('lines are the same however the bytes are cut', async () => {
  const text = fc.string({ unit: 'grapheme' }).map(line => line.replaceAll('\n', ''))
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.array(fc.nat(9)), async (expected, sizes) => {
      const bytes = Buffer.from(expected.map(line => `${line}\n`).join(''))
      expect(await Array.fromAsync(lines(cut(bytes, sizes)))).toEqual(expected)
    }),
  )
})

test('what is cut off at the end is no line', async () => {
  expect(await Array.fromAsync(lines(cut(Buffer.from('whole\nhal'), [2])))).toEqual(['whole'])
})
