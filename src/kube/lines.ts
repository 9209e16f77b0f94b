const newline = 0x0a

/**
 * Splits a byte stream into lines: returns a function that takes its chunks, and calls `onLine` for each complete line.
 * A line is a view of the chunk where possible, so it must be copied if it is kept. Text after the last newline is an
 * incomplete line, and is dropped.
 */
export function lineSplitter(onLine: (line: Buffer) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = []
  return chunk => {
    let start = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      const line = chunk.subarray(start, end)
      start = end + 1
      if (pieces.length === 0) onLine(line)
      else {
        const whole = Buffer.concat([...pieces, line])
        pieces = []
        onLine(whole)
      }
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start))
  }
}
