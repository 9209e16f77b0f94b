import { attack } from '../../kit/attack/attack.ts'
import { controlVariable } from '../../kit/program/controls.ts'
import { isWhole } from './points.ts'

/** Half a minute of a whole machine each: a run that is not whole has one attack for each promise, unless a control needs more. */
export const attackInFull: typeof attack = (...args) => {
  if (isWhole || process.env[controlVariable]) attack(...args)
}
