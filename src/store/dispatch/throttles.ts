/** Throttles as Redis has them. Pure. */
import { asNumber, asObject, parseJson } from '../../base/json.ts'
import { calm } from '../../dispatch/throttle.ts'
import type { Throttle } from '../../dispatch/types.ts'
import { wellFormed } from './forms.ts'

export const encodeThrottle = ({ quotas, capacity, ...rest }: Throttle): string =>
  wellFormed({ ...rest, quotas: Object.fromEntries(quotas), capacity: Object.fromEntries(capacity) })

/** A text that is no throttle counts as a calm one. */
export function parseThrottle(json: string): Throttle {
  const value = parseJson(json)
  if (value === undefined) return calm
  const { createAfterMs, hurry, quotas, capacity } = asObject(value)
  return {
    createAfterMs: asNumber(createAfterMs),
    hurry: hurry === true,
    quotas: mapOf(quotas, of => ({ count: asNumber(of.count), untilMs: asNumber(of.untilMs) })),
    capacity: mapOf(capacity, of => ({ untilMs: asNumber(of.untilMs), failures: asNumber(of.failures) })),
  }
}

const mapOf = <V>(value: unknown, read: (of: ReturnType<typeof asObject>) => V): ReadonlyMap<string, V> =>
  new Map(Object.entries(asObject(value)).map(([name, of]) => [name, read(asObject(of))]))
