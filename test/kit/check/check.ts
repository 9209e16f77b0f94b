/**
 * The checker: the evidence of one fleet, held against the invariants. Offline and pure, so that histories made by hand
 * show that each of them can be broken.
 */
import { checkI1, checkI2, checkI9 } from './check/cluster.ts'
import { type Evidence, toldBy, type Violation } from './check/evidence.ts'
import { checkI3, checkI6, checkI8, operationsOf } from './check/operations.ts'
import { checkReads } from './check/reads.ts'
import { checkI10 } from './check/resources.ts'
import { checkI5 } from './check/rest.ts'
import { checkI4 } from './check/streams.ts'
import { checkI7 } from './check/takeovers.ts'

export type { Evidence, Expectations, Violation } from './check/evidence.ts'

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
