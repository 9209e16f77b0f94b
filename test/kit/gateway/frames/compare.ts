/** Carries sequences with and without a gateway, and finds where bytes differ. */
import { type Arrived, carry, type FramesApp, type SequenceScript, type Way } from './carry.ts'
import { planOf, type SequencePlan, type SidePlan } from './plan.ts'
import { scriptOf } from './script.ts'

/** Makes the bytes of both sides' frames. */
export type Maker = (side: SidePlan, isClient: boolean) => Promise<Buffer>

export interface Comparison {
  /** Sequences from here on. */
  readonly from: number
  readonly count: number
  readonly seed: number
  readonly app: FramesApp
  readonly direct: Way
  readonly gateway: Way
  readonly maker: Maker
  readonly libraries: readonly SidePlan['library'][]
  /** Sequences at once. */
  readonly atOnce: number
  readonly signal?: AbortSignal | undefined
}

export interface Outcome {
  readonly sequences: number
  readonly frames: number
  /** Of both sides, carried once. */
  readonly bytes: number
  readonly early: number
  /** Sides whose bytes were spoiled, by how. */
  readonly spoiled: Readonly<Record<string, number>>
  readonly ends: Readonly<Record<string, number>>
  /** The first of those that differ, with their number. */
  readonly differences: readonly string[]
}

const mostDifferences = 20

export async function compare(comparison: Comparison): Promise<Outcome> {
  const tally = new Tally()
  let next = comparison.from
  const worker = async () => {
    while (next < comparison.from + comparison.count && !comparison.signal?.aborted) {
      const number = next++
      await one(comparison, number, tally)
    }
  }
  await Promise.all(Array.from({ length: comparison.atOnce }, worker))
  return tally
}

async function one({ seed, libraries, maker, app, direct, gateway }: Comparison, number: number, tally: Tally) {
  const plan = planOf(seed, number, libraries)
  const [ofClient, ofApp] = await Promise.all([maker(plan.client, true), maker(plan.app, false)])
  const script = { client: scriptOf(plan.client, ofClient), app: scriptOf(plan.app, ofApp) }
  tally.add(plan, script)
  for (const [name, way] of [['direct', direct] as const, ['gateway', gateway] as const]) {
    const arrived = await carry(way, app, 2 * number + (name === 'direct' ? 0 : 1), script)
    for (const words of differences(script, arrived)) tally.differ(`sequence ${number}, ${name}: ${words}`)
  }
}

/**
 * All that a side writes arrives. Where a side resets the connection, bytes on their way are lost in both directions, and what
 * arrives is the beginning.
 */
export function differences({ client, app }: SequenceScript, arrived: Arrived): string[] {
  const isReset = client.end === 'reset' || app.end === 'reset'
  const sides = [
    ['the app got', client, arrived.app],
    ['the client got', app, arrived.client],
  ] as const
  return sides.flatMap(([name, { pieces }, got]) => {
    const sent = Buffer.concat(pieces)
    const expected = isReset ? sent.subarray(0, got.length) : sent
    if (got.equals(expected)) return []
    const at = got.findIndex((byte, i) => byte !== expected[i])
    return [`${name} ${got.length} of ${sent.length} bytes, equal up to ${at < 0 ? got.length : at}`]
  })
}

class Tally implements Outcome {
  sequences = 0
  frames = 0
  bytes = 0
  early = 0
  readonly spoiled: Record<string, number> = {}
  readonly ends: Record<string, number> = {}
  readonly differences: string[] = []

  add(plan: SequencePlan, script: SequenceScript): void {
    this.sequences += 1
    for (const side of ['client', 'app'] as const) {
      const { frames, spoiling, early, end, library } = plan[side]
      this.frames += frames.length
      this.bytes += script[side].pieces.reduce((sum, { length }) => sum + length, 0)
      this.early += early ? 1 : 0
      count(this.spoiled, spoiling)
      count(this.ends, `${library} ${end}`)
    }
  }

  differ(words: string): void {
    if (this.differences.length < mostDifferences) this.differences.push(words)
  }
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}
