/** The line of figures of each attack, and the variables by which a run asks for it. */
import { appendFileSync } from 'node:fs'

/** Environment variable of vitest: the file that gets every line, instead of stdout. */
export const resultsVariable = 'SKYLAB_RESULTS'
/** Environment variable of vitest: the seed to repeat. */
export const seedVariable = 'SKYLAB_SEED'
/** Environment variable of vitest: the program of another build, for the attack on replicas of two builds. */
export const besideVariable = 'SKYLAB_BESIDE'

/** The figures of one attack; an attack may add more. */
export interface Result {
  readonly test: string
  readonly injected: number
  readonly landed: number
  readonly missed: number
  readonly violations: readonly string[]
  /** Of the times that the attack measured, in ms. */
  readonly p50?: number
  readonly p99?: number
  readonly max?: number
  readonly seed: number
  readonly seconds: number
  /** The first line of the error, if the attack ended with one. */
  readonly error?: string
  /** The guards that the control removed. */
  readonly control?: string
  /** The fleets of a failed attack, whose logs are kept. */
  readonly fleets?: readonly string[]
}

/** Why an attack failed by its own line: the first fault; null if there is none. */
export function whyRed({ violations, error, missed, injected }: Result): string | null {
  if (error !== undefined) return error
  if (violations.length > 0) return violations[0]!
  if (missed !== 0) return `${missed} of ${injected} blows missed`
  return injected === 0 ? 'there was no blow' : null
}

export function report(result: Result): void {
  const text = JSON.stringify(result)
  const file = process.env[resultsVariable]
  if (file) appendFileSync(file, `${text}\n`)
  else process.stdout.write(`RESULT ${text}\n`)
}
