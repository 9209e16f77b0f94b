import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { closeFrame, FrameReader } from './frames.ts'

interface Frame {
  readonly opcode: number
  readonly size: number
  readonly isMasked: boolean
}

function bytesOf({ opcode, size, isMasked }: Frame): Buffer {
  const mask = isMasked ? 0x80 : 0
  const length = Buffer.alloc(size < 126 ? 0 : size < 65_536 ? 2 : 8)
  if (length.length === 2) length.writeUInt16BE(size)
  if (length.length === 8) length.writeBigUInt64BE(BigInt(size))
  const short = size < 126 ? size : size < 65_536 ? 126 : 127
  const payload = Buffer.alloc(size, 0x81)
  return Buffer.concat([Buffer.from([0x80 | opcode, mask | short]), length, Buffer.alloc(isMasked ? 4 : 0), payload])
}

const frame = fc.record({
  opcode: fc.constantFrom(0, 1, 2, 8, 9, 10),
  size: fc.oneof(fc.nat(130), fc.constantFrom(0, 125, 126, 127, 65_535, 65_536, 70_000)),
  isMasked: fc.boolean(),
})
const frames = fc.array(frame, { maxLength: 6 })

/** Cuts bytes at these places. */
function* chunks(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  let at = 0
  for (const size of sizes) {
    yield bytes.subarray(at, at + size)
    at += size
  }
  yield bytes.subarray(at)
}

describe('FrameReader', () => {
  it('counts the data frames of any stream in any chunks, and ends between two', () => {
    fc.assert(
      fc.property(frames, fc.array(fc.nat(70_000)), (all, sizes) => {
        const reader = new FrameReader()
        for (const chunk of chunks(Buffer.concat(all.map(bytesOf)), sizes)) reader.read(chunk)
        expect(reader.dataFrames).toBe(all.filter(({ opcode }) => opcode < 8).length)
        expect(reader.isBetween).toBe(true)
      }),
    )
  })

  it('finds the end of the frame that is open when the rest of it comes with others', () => {
    fc.assert(
      fc.property(frame, frames, fc.nat(70_020), (first, others, cut) => {
        const bytes = Buffer.concat([first, ...others].map(bytesOf))
        const length = bytesOf(first).length
        fc.pre(cut > 0 && cut < length)
        const reader = new FrameReader()
        reader.read(bytes.subarray(0, cut))
        expect(reader.isBetween).toBe(false)
        expect(reader.readToEnd(bytes.subarray(cut))).toBe(length - cut)
      }),
    )
  })

  it('finds no end when the frame goes on', () => {
    const reader = new FrameReader()
    const bytes = bytesOf({ opcode: 2, size: 300, isMasked: false })
    expect(reader.readToEnd(bytes.subarray(0, 200))).toBe(undefined)
    expect(reader.readToEnd(bytes.subarray(200))).toBe(bytes.length - 200)
  })
})

describe('closeFrame', () => {
  it('is a frame by its own reader, with code and reason', () => {
    const bytes = closeFrame(1008, 'x'.repeat(200))
    expect(new FrameReader().readToEnd(bytes)).toBe(bytes.length)
    expect([bytes[0], bytes.readUInt16BE(2), bytes.length]).toEqual([0x88, 1008, 127])
  })
})
