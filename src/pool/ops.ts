/** Which numbers are believed: none is more than a day beyond Redis' clock. `include/draw.lua` has the same bound. Pure. */
import { machineOp } from '../store/dispatch/forms.ts'

const dayMs = 86_400_000

const boundAt = (redisMs: number): number => (redisMs + dayMs) * 1000

/** @returns why no number can be drawn; undefined if one can */
export function counterWords(lastOp: number, redisMs: number): string | undefined {
  if (lastOp <= boundAt(redisMs)) return undefined
  const days = Math.floor((lastOp / 1000 - redisMs) / dayMs)
  return `the clock of Redis, or its counter (skylab heal): the last operation is ${days} days beyond the clock`
}

/** The highest op among names of machines that is believed, and how many are not; 0 without any. */
export function highestOf(
  names: readonly string[],
  redisMs: number,
): { readonly highestOp: number; readonly ahead: number } {
  const ops = names.flatMap(name => machineOp(name) ?? [])
  const believed = ops.filter(op => op <= boundAt(redisMs))
  return { highestOp: believed.reduce((highest, op) => Math.max(highest, op), 0), ahead: ops.length - believed.length }
}
