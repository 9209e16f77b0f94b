/** The line of figures that each attack tells, and how a run asks for it. */
import { appendFileSync } from 'node:fs'

/** In the environment of vitest: the file to which every line is added, instead of being printed. */
export const resultsVariable = 'SKYLAB_RESULTS'
/** In the environment of vitest: the seed of a run that is to be repeated. */
export const seedVariable = 'SKYLAB_SEED'

/** What is told of one attack; more figures may stand beside these. */
export interface Result {
  readonly test: string
  readonly injected: number
  readonly landed: number
  readonly missed: number
  readonly violations: readonly string[]
  /** Of the times that it is about, in ms. */
  readonly p50?: number
  readonly p99?: number
  readonly max?: number
  readonly seed: number
  readonly seconds: number
  /** The first line of what it ended with, where it did not come to its end. */
  readonly error?: string
  /** The guards that were removed. */
  readonly control?: string
  /** Of a red one: whose logs are kept. */
  readonly fleets?: readonly string[]
}

/** Why an attack is red by its own line: the first thing that was wrong, in words; null where nothing was. */
export function whyRed({ violations, error, missed, injected }: Result): string | null {
  if (error !== undefined) return error
  if (violations.length > 0) return violations[0]!
  if (missed !== 0) return `${missed} of ${injected} blows missed`
  return injected === 0 ? 'there was no blow' : null
}

export function tell(result: Result): void {
  const text = JSON.stringify(result)
  const file = process.env[resultsVariable]
  if (file) appendFileSync(file, `${text}\n`)
  else process.stdout.write(`RESULT ${text}\n`)
}
