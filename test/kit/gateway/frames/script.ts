/** What a side of a WebSocket writes after the heads: pieces of bytes, and its end. */
import type { SidePlan, Spoiling } from './plan.ts'
import { Random } from './random.ts'

export interface SideScript extends Pick<SidePlan, 'early' | 'end'> {
  readonly pieces: readonly Buffer[]
}

const mostCuts = 6

/** Heads that no library sends: reserved bits and opcodes, a length of 2^63 - 1, long and divided control frames. */
const forgedHeads = ['f181', '8300', '8b80', '827f7fffffffffffffff', '82ff8000000000000000', '89fe0080', '0980', '8801']

/** @param bytes the frames of the plan, as its library made them */
export function scriptOf({ spoiling, early, end, seed }: SidePlan, bytes: Buffer): SideScript {
  const random = new Random(seed, 1)
  return { pieces: divided(spoiled(bytes, spoiling, random), random), early, end }
}

function spoiled(bytes: Buffer, spoiling: Spoiling, random: Random): Buffer {
  const at = random.upTo(bytes.length)
  const insert = (garbage: Buffer) => Buffer.concat([bytes.subarray(0, at), garbage, bytes.subarray(at)])
  switch (spoiling) {
    case 'none':
      return bytes
    case 'cut':
      return bytes.subarray(0, at)
    case 'garbage':
      return insert(random.bytes(1 + random.upTo(199)))
    case 'head':
      return insert(Buffer.from(random.of(forgedHeads), 'hex'))
    case 'flip': {
      const changed = Buffer.from(bytes)
      if (changed.length > 0) changed[at % changed.length]! ^= 1 << random.upTo(7)
      return changed
    }
  }
}

/** At any byte, and often within the first head. */
function divided(bytes: Buffer, random: Random): Buffer[] {
  const place = () => random.upTo(random.chance(0.25) ? Math.min(14, bytes.length) : bytes.length)
  const cuts = Array.from({ length: random.upTo(mostCuts) }, place).sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length)).filter(piece => piece.length > 0)
}
