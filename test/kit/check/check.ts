/**
 * The checker: the evidence of one fleet, held against the invariants. Offline and pure, so that histories made by hand
 * show that each of them can be broken.
 */

import { type Evidence, toldBy, type Violation } from '../evidence/evidence.ts'
import { checkI1, checkI2, checkI9 } from './cluster.ts'
import { checkI3, checkI6, checkI8, operationsOf } from './operations.ts'
import { checkReads } from './reads.ts'
import { checkI10 } from './resources.ts'
import { checkI5 } from './rest.ts'
import { checkI4 } from './streams.ts'
import { checkI7 } from './takeovers.ts'

export type { Evidence, Expectations, Violation } from '../evidence/evidence.ts'

/** All that is wrong, each once. */
export function check(evidence: Evidence): readonly Violation[] {
  const told = toldBy(evidence.history)
  const operations = operationsOf(evidence, told)
  return [
    ...new Set([
      ...checkI1(evidence),
      ...checkI2(evidence),
      ...checkI3(evidence, told, operations),
      ...checkI4(evidence, told),
      ...checkI5(evidence),
      ...checkI6(told, operations),
      ...checkI7(evidence, told),
      ...checkI8(evidence, told, operations),
      ...checkI9(evidence),
      ...checkI10(evidence),
      ...checkReads(evidence, told, operations),
    ]),
  ]
}
