/** What the providers are given in tests: time that a test moves on, and a log that it reads. */
import { type Clock, systemClock } from '../../base/clock.ts'
import type { ApiError } from '../../base/errors.ts'
import { createLogger } from '../../telemetry/log.ts'
import type { SourceResult } from '../source.ts'

/** The system's time, and what a test adds to it. Sleeps are real: they are time-outs, which tests make short. */
export class ShiftedClock implements Clock {
  #wallMs = 0
  #monotonicMs = 0

  wallMs = () => systemClock.wallMs() + this.#wallMs
  monotonicMs = () => systemClock.monotonicMs() + this.#monotonicMs
  sleep = systemClock.sleep

  /** Time passes for all. */
  advance(seconds: number): void {
    this.#monotonicMs += seconds * 1000
    this.step(seconds)
  }

  /** The wall clock alone is set to another time. */
  step(seconds: number): void {
    this.#wallMs += seconds * 1000
  }
}

export function testParts() {
  const lines: string[] = []
  const results: SourceResult[] = []
  const log = createLogger({ level: 'debug', replica: 'r1', destination: { write: line => void lines.push(line) } })
  const onRequest = (result: SourceResult) => void results.push(result)
  return { clock: new ShiftedClock(), log, lines, results, onRequest }
}

/** What a promise was refused with. */
export const refusalOf = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    value => Promise.reject(new Error(`not refused: ${JSON.stringify(value)}`)),
    error => error,
  )
