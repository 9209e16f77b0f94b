/** Cuts bytes of a peer into lines, with a bound on their length. Pure. */

/** Stands for a line that was longer than the bound. Its bytes were dropped as they came. */
export const tooLong = Symbol('a line that is too long')

const newline = 0x0a

export class Lines {
  readonly #longestBytes: number
  #parts: Buffer[] = []
  #bytes = 0
  #isTooLong = false

  /** @param longestBytes of a line, without its end */
  constructor(longestBytes: number) {
    this.#longestBytes = longestBytes
  }

  /** The lines that end in this chunk. Bytes after the last end wait for more: half a line is none. */
  take(chunk: Buffer): (string | typeof tooLong)[] {
    const lines: (string | typeof tooLong)[] = []
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      this.#add(chunk.subarray(from, end))
      lines.push(this.#isTooLong ? tooLong : Buffer.concat(this.#parts).toString('utf8'))
      this.#parts = []
      this.#bytes = 0
      this.#isTooLong = false
      from = end + 1
    }
    this.#add(chunk.subarray(from))
    return lines
  }

  #add(part: Buffer): void {
    this.#bytes += part.length
    if (this.#bytes > this.#longestBytes) {
      this.#isTooLong = true
      this.#parts = []
    } else if (part.length > 0) this.#parts.push(part)
  }
}
