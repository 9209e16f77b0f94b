/**
 * The checker: tests the evidence of one fleet against the invariants. Offline and pure, so histories made by hand can
 * show that each invariant can be broken.
 */

import { type Evidence, parseHistory, type Violation } from '../evidence/evidence.ts'
import { checkI1, checkI2, checkI9 } from './cluster.ts'
import { checkI3, checkI6, checkI8, operationsOf } from './operations.ts'
import { checkReads } from './reads.ts'
import { checkI10 } from './resources.ts'
import { checkI5 } from './rest.ts'
import { checkI4 } from './streams.ts'
import { checkI7 } from './takeovers.ts'

export type { Evidence, Expectations, Violation } from '../evidence/evidence.ts'

/** All violations, each once. */
export function check(evidence: Evidence): readonly Violation[] {
  const parsed = parseHistory(evidence.history)
  const operations = operationsOf(evidence, parsed)
  return [
    ...new Set([
      ...checkI1(evidence),
      ...checkI2(evidence),
      ...checkI3(evidence, parsed, operations),
      ...checkI4(evidence, parsed),
      ...checkI5(evidence),
      ...checkI6(parsed, operations),
      ...checkI7(evidence, parsed),
      ...checkI8(evidence, parsed, operations),
      ...checkI9(evidence),
      ...checkI10(evidence),
      ...checkReads(evidence, parsed, operations),
    ]),
  ]
}
