/** The parts that providers need in tests: a clock that the test moves, and a log that it reads. */
import type { ApiError } from '../../../src/base/errors.ts'
import type { SourceResult } from '../../../src/identity/source.ts'
import { createLogger } from '../../../src/telemetry/log.ts'
import { ManualClock } from '../clock.ts'

/** Its clock runs on: sleeps are time-outs, which tests make short. */
export function testParts() {
  const lines: string[] = []
  const results: SourceResult[] = []
  const log = createLogger({ level: 'debug', replica: 'r1', destination: { write: line => void lines.push(line) } })
  const onRequest = (result: SourceResult) => void results.push(result)
  return { clock: new ManualClock({ runs: true }), log, lines, results, onRequest }
}

/** The error of a rejected promise. */
export const refusalOf = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    value => Promise.reject(new Error(`not refused: ${JSON.stringify(value)}`)),
    error => error,
  )
