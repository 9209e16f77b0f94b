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

async function read(chunks: AsyncIterable<Uint8Array>): Promise<string[]> {
  const all: string[] = []
  for await (const line of lines(chunks)) all.push(line)
  return all
}

test('lines returns the same lines however the bytes are split', async () => {
  const text = fc.string({ unit: 'grapheme' }).map(line => line.replaceAll('\n', ''))
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.array(fc.nat(9)), async (expected, sizes) => {
      const bytes = Buffer.from(expected.map(line => `${line}\n`).join(''))
      expect(await read(cut(bytes, sizes))).toEqual(expected)
    }),
  )
})

test('lines drops an incomplete last line', async () => {
  expect(await read(cut(Buffer.from('whole\nhal'), [2]))).toEqual(['whole'])
})
