/**
 * Seals the right to run a container. After a loss of Redis the list of a machine is believed by this seal alone: whoever lacks the
 * installation's token can invent neither owner nor run. Pure.
 */
import { createHmac } from 'node:crypto'
import type { Warrant } from './protocol.ts'
import { isSame, keyFor } from './tags.ts'

/** @returns the seal over uuid, run, owner and spec */
export function sealOf(token: string, { uuid, run, owner, spec }: Omit<Warrant, 'seal'>): string {
  return createHmac('sha256', keyFor(token, 'warrant')).update(canonical({ uuid, run, owner, spec })).digest('hex')
}

/** @param tokens the present one, and those before */
export const isWarranted = (tokens: readonly string[], { seal, ...warrant }: Warrant): boolean =>
  // Each is tried, whichever fits.
  tokens.map(token => isSame(seal, sealOf(token, warrant))).includes(true)

/** One text for one value, whoever wrote it: keys in order, no space, nothing undefined. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).filter(([, each]) => each !== undefined)
  // By code units: the same on every machine.
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`
}
