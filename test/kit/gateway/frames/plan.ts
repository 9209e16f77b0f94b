/**
 * Plans of what both sides of a WebSocket write, by a seed: frames of a library, how their bytes are spoiled, and in which
 * pieces they are sent.
 *
 * - **sequence**: what both sides of one WebSocket write.
 * - **side**: of a sequence, the client or the app.
 */
import { Random } from './random.ts'

/** The libraries that make frames. */
export type Library = 'ws' | 'websockets'

/** A frame. Payloads follow from their size. */
export type FrameOrder =
  | {
      readonly do: 'data'
      readonly kind: 'text' | 'binary'
      readonly size: number
      /** The first frame of its message. */
      readonly first: boolean
      /** The last one. */
      readonly fin: boolean
    }
  | { readonly do: 'ping' | 'pong'; readonly size: number }
  | { readonly do: 'close'; readonly code: number; readonly size: number }

/** How bytes are spoiled after the library made them: by garbage, a changed bit, a forged head, or an early end. */
export type Spoiling = 'none' | 'garbage' | 'flip' | 'head' | 'cut'

/** How a side ends when it has written all: it ends its way, resets the connection, or waits until the other side ended. */
export type SideEnd = 'fin' | 'reset' | 'wait'

export interface SidePlan {
  readonly library: Library
  /** By permessage-deflate. */
  readonly compresses: boolean
  readonly frames: readonly FrameOrder[]
  readonly spoiling: Spoiling
  /** The first piece goes in one packet with the head. */
  readonly early: boolean
  readonly end: SideEnd
  /** Of masks, of what spoils, and of the places where bytes are divided. */
  readonly seed: number
}

export interface SequencePlan {
  readonly client: SidePlan
  readonly app: SidePlan
}

const mib = 1_048_576
/** Where the form of a head changes, and the largest. */
const edges = [0, 1, 125, 126, 127, 65_535, 65_536, mib]
const codes = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1011, 1012, 3000, 4999]

/** @param libraries those that make frames here */
export function planOf(seed: number, number: number, libraries: readonly Library[]): SequencePlan {
  const random = new Random(seed, number)
  const client = sideOf(random, libraries)
  const app = sideOf(random, libraries)
  // Somebody must end first.
  return client.end === 'wait' && app.end === 'wait' ? { client: { ...client, end: 'fin' }, app } : { client, app }
}

function sideOf(random: Random, libraries: readonly Library[]): SidePlan {
  return {
    library: random.of(libraries),
    compresses: random.chance(0.25),
    frames: framesOf(random),
    spoiling: random.of<Spoiling>(['none', 'none', 'none', 'none', 'garbage', 'flip', 'head', 'cut', 'cut']),
    early: random.chance(0.3),
    end: random.of<SideEnd>(['fin', 'fin', 'fin', 'fin', 'wait', 'wait', 'reset']),
    seed: random.upTo(2 ** 31 - 1),
  }
}

function framesOf(random: Random): FrameOrder[] {
  const messages = Array.from({ length: random.upTo(3) }, () => messageOf(random)).flat()
  const frames = [...(random.chance(0.2) ? [controlOf(random)] : []), ...messages]
  return random.chance(0.4) ? [...frames, { do: 'close', code: random.of(codes), size: random.upTo(123) }] : frames
}

/** In fragments, with control frames between them. */
function messageOf(random: Random): FrameOrder[] {
  const kind = random.of(['text', 'binary'] as const)
  const count = random.chance(0.5) ? 1 : 2 + random.upTo(3)
  return Array.from({ length: count }, (_, i): FrameOrder[] => {
    const frame = { do: 'data', kind, size: sizeOf(random), first: i === 0, fin: i === count - 1 } as const
    return random.chance(0.25) ? [frame, controlOf(random)] : [frame]
  }).flat()
}

const controlOf = (random: Random): FrameOrder => ({ do: random.of(['ping', 'pong'] as const), size: random.upTo(125) })

/** Mostly small; each form of a head, and the largest, occur too. */
function sizeOf(random: Random): number {
  if (random.chance(0.005)) return mib
  if (random.chance(0.2)) return random.of(edges.slice(0, -1))
  return Math.floor(65_536 ** random.share())
}
