/**
 * One attack: faults that each need proof that they landed, fleets that are judged at rest, and a line of figures.
 * An attack fails if it has no blow, if a blow missed, or if a promise was broken.
 */
import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { expect, type TestContext, test } from 'vitest'
import { aborted } from '../../../dev/process/program.ts'
import { Fleet, type FleetOptions } from '../fleet/fleet.ts'
import { controlVariable } from '../program/controls.ts'
import { judge } from './judge.ts'
import { type Result, report, seedVariable } from './result.ts'

const defaultLimitMs = 300_000
/** Operations of each fleet of which all replicas are asked (P6). More would disturb what the attack observes. */
const readBacks = 200

export interface AttackOptions {
  /** Limit of the whole test. */
  readonly limitMs?: number
  /** Whether other attacks of the file may run beside it. Set where no time is measured to the second. */
  readonly concurrent?: boolean
}

/** The argument of an attack. */
export interface Trial {
  readonly context: TestContext
  /** Random for each run, and printed. SKYLAB_SEED repeats it. */
  readonly seed: number
  /** The next number in [0, 1) of the seed's sequence. */
  random(): number
  /** Starts a fleet, which is judged and stopped with the test. */
  fleet(options?: FleetOptions): Promise<Fleet>
  /** Counts faults that the attack tries. */
  injected(count?: number): void
  /** Counts faults with proof that they landed in the intended window. */
  landed(count?: number): void
  /** A time that the attack measures, such as a take-over, in ms. The line has p50, p99 and max. */
  took(ms: number): void
  /** One more figure for the line. */
  figure(name: string, value: unknown): void
  /** A broken promise that the judge alone cannot see. */
  violation(words: string): void
}

/** The counts and the fleets of one attack so far. */
class Tally {
  readonly times: number[] = []
  readonly violations: string[] = []
  readonly figures: [string, unknown][] = []
  readonly fleets: Fleet[] = []
  /** The judge's figures, summed over all fleets. */
  readonly #sums = new Map<string, number>()
  injected = 0
  landed = 0

  async judge(): Promise<void> {
    for (const fleet of this.fleets) {
      const { violations, figures } = await judge(fleet)
      this.violations.push(...violations)
      for (const [name, value] of Object.entries(figures)) this.#sums.set(name, (this.#sums.get(name) ?? 0) + value)
    }
  }

  result(name: string, seed: number, seconds: number, error: unknown): Result {
    const sorted = this.times.toSorted((a, b) => a - b)
    const at = (share: number) => Math.round(sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!)
    const missed = this.injected - this.landed
    const isRed = error !== undefined || missed !== 0 || this.violations.length > 0
    const control = process.env[controlVariable]
    return {
      test: name,
      injected: this.injected,
      landed: this.landed,
      missed,
      violations: this.violations,
      ...(sorted.length > 0 && { p50: at(0.5), p99: at(0.99), max: at(1) }),
      seed,
      seconds: Number(seconds.toFixed(1)),
      ...Object.fromEntries([...this.figures, ...this.#sums]),
      ...(error !== undefined && { error: wordsOf(error) }),
      ...(control && { control }),
      ...(isRed && { fleets: this.fleets.map(fleet => fleet.name) }),
    }
  }
}

const longestWords = 400

/** The first line of the error's message, with the value found if an expectation failed. */
function wordsOf(error: unknown): string {
  const line = (error instanceof Error ? error.message : String(error)).split('\n')[0]!
  const { actual, expected } = error as { readonly actual?: unknown; readonly expected?: unknown }
  const found = actual === undefined ? '' : `: ${JSON.stringify(unlike(actual, expected))}`
  return (line + found).slice(0, longestWords)
}

/** The items that differ, for lists of the same length; else the whole value. */
function unlike(actual: unknown, expected: unknown): unknown {
  if (!Array.isArray(actual) || !Array.isArray(expected) || actual.length !== expected.length) return actual
  return actual.filter((each, i) => JSON.stringify(each) !== JSON.stringify(expected[i]))
}

/** Defines a test. `name` begins with the attack's number, if it has one, such as `T3 stop past the lease`. */
export function attack(name: string, body: (trial: Trial) => Promise<void>, options: AttackOptions = {}): void {
  const define = options.concurrent ? test.concurrent : test
  define(name, context => runAttack(name, body, context), options.limitMs ?? defaultLimitMs)
}

async function runAttack(name: string, body: (trial: Trial) => Promise<void>, context: TestContext): Promise<void> {
  const seed = Number(process.env[seedVariable] ?? Math.floor(Math.random() * 2 ** 31))
  const tally = new Tally()
  const begunMs = performance.now()
  context.onTestFinished(async () => {
    const keepLogs = context.task.result?.state === 'fail'
    await Promise.all(tally.fleets.map(fleet => fleet.stop({ keepLogs })))
  }, 180_000)
  const late = aborted(context.signal).then(() => {
    throw context.signal.reason
  })
  let error: unknown
  const inTime = async (work: Promise<void>) => {
    await Promise.race([work, late]).catch(thrown => {
      error ??= thrown ?? new Error('nothing was thrown')
    })
  }
  await inTime(body(trialOf(tally, seed, context)))
  // A failed attack is judged too: a violation may be the cause.
  if (!context.signal.aborted) await inTime(tally.judge())
  report(tally.result(name, seed, (performance.now() - begunMs) / 1000, error))
  if (error !== undefined) throw error
  expect({ violations: tally.violations, landed: tally.landed }).toEqual({ violations: [], landed: tally.injected })
  expect(tally.injected, 'blows').toBeGreaterThan(0)
}

function trialOf(tally: Tally, seed: number, context: TestContext): Trial {
  const generator = xoroshiro128plus(seed)
  return {
    context,
    seed,
    random: () => uniformFloat64(generator),
    fleet: async options => {
      const fleet = await Fleet.start({ readBack: readBacks, ...options })
      tally.fleets.push(fleet)
      return fleet
    },
    injected: (count = 1) => {
      tally.injected += count
    },
    landed: (count = 1) => {
      tally.landed += count
    },
    took: ms => void tally.times.push(ms),
    figure: (figure, value) => void tally.figures.push([figure, value]),
    violation: words => void tally.violations.push(words),
  }
}
