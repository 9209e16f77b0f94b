/** The answer to a look for operations to own. */
import { pairsOf } from './pairs.ts'

export interface Look {
  /** Redis' clock */
  readonly nowMs: number
  /** True if `owned` has all; otherwise it has only those whose lease has ended by Redis' clock. */
  readonly all: boolean
  /** Names of subjects whose operation has no owner, oldest op first. */
  readonly waiting: readonly { readonly name: string; readonly op: number }[]
  /** Those whose operation is owned. `beat` rises with each extension, and is the lease's end by Redis' clock. */
  readonly owned: readonly { readonly name: string; readonly beat: number }[]
  /** Those whose operation is past its deadline. */
  readonly overdue: readonly string[]
}

/** As the script answers; names are followed by their scores. */
export type LookAnswer = [now: string, held: string, waiting: string[], owned: string[], overdue: string[]]

export const readLook = ([now, , waiting, owned, overdue]: LookAnswer, all: boolean): Look => ({
  nowMs: Number(now),
  all,
  waiting: scored(waiting).map(([name, op]) => ({ name, op })),
  owned: scored(owned).map(([name, beat]) => ({ name, beat })),
  overdue,
})

const scored = (flat: readonly string[]): [name: string, score: number][] =>
  pairsOf(flat).map(([name, score]) => [name, Number(score)])
