/**
 * Files of Node's compile cache: five numbers, then V8's code of one source. V8 never writes the same bytes twice (hashes
 * of strings have a seed for each process, and sizes vary). So the numbers identify the file: size and CRC of the
 * source, and the CRC of the rest.
 */
import { crc32 } from 'node:zlib'

const headBytes = 20

/** Whether a file was compiled from one of these sources, and is complete. */
export function isCompiledFrom(file: Buffer, sources: readonly Buffer[]): boolean {
  if (file.length <= headBytes) return false
  const [size, rest, sourceSum, restSum] = [4, 8, 12, 16].map(at => file.readUInt32LE(at))
  if (rest !== file.length - headBytes || restSum !== crc32(file.subarray(headBytes))) return false
  return sources.some(source => source.length === size && crc32(source) === sourceSum)
}
