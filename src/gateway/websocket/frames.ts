/** Where frames of a WebSocket begin and end (RFC 6455, section 5.2). Payload is skipped, whatever it is. Pure. */

/** The longest head: two bytes, eight of a length, four of a mask. */
const longestHead = 14
const firstControl = 8
const closeOpcode = 0x88
/** The most that a control frame takes. */
const maxReasonBytes = 123

/** Follows one way of a connection by the chunks in which it comes. */
export class FrameReader {
  /** Frames of data, not pings, pongs and closes, whose heads have come. */
  dataFrames = 0
  readonly #head = new Uint8Array(longestHead)
  #headBytes = 0
  #payloadLeft = 0

  /** Whether another frame may begin here. */
  get isBetween(): boolean {
    return this.#headBytes === 0 && this.#payloadLeft === 0
  }

  read(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) at = this.#step(chunk, at)
  }

  /** Reads to the end of the frame that is open, or that begins here. Returns where it ends; undefined: not in this chunk. */
  readToEnd(chunk: Uint8Array): number | undefined {
    for (let at = 0; at < chunk.length; ) {
      at = this.#step(chunk, at)
      if (this.isBetween) return at
    }
    return undefined
  }

  /** One byte of a head, or all of a payload that is there. */
  #step(chunk: Uint8Array, at: number): number {
    if (this.#payloadLeft > 0) {
      const taken = Math.min(this.#payloadLeft, chunk.length - at)
      this.#payloadLeft -= taken
      return at + taken
    }
    this.#head[this.#headBytes] = chunk[at]!
    this.#headBytes += 1
    if (this.#headBytes >= 2 && this.#headBytes === headLength(this.#head[1]!)) this.#beginPayload()
    return at + 1
  }

  #beginPayload(): void {
    this.#headBytes = 0
    if ((this.#head[0]! & 0x0f) < firstControl) this.dataFrames += 1
    this.#payloadLeft = payloadLength(this.#head)
  }
}

/** @param second byte of the head */
function headLength(second: number): number {
  const short = second & 0x7f
  const more = short === 126 ? 2 : short === 127 ? 8 : 0
  return 2 + more + (second & 0x80 ? 4 : 0)
}

function payloadLength(head: Uint8Array): number {
  const short = head[1]! & 0x7f
  if (short < 126) return short
  let length = 0
  for (let at = 2; at < (short === 126 ? 4 : 10); at += 1) length = length * 256 + head[at]!
  return length
}

/** A close as servers send it: 1008 "policy violation", 1012 "service restart". */
export function closeFrame(code: 1008 | 1012, reason: string): Buffer {
  const words = Buffer.from(reason).subarray(0, maxReasonBytes)
  return Buffer.concat([Buffer.from([closeOpcode, 2 + words.length, code >> 8, code & 0xff]), words])
}
