/** Errors of PostgreSQL and of its client, in our words. Pure. */
import { cleaned, inFull, isKnown, reasonOf } from '../../base/reasons.ts'
import { Refused, TableTrouble, type TroubleReason } from '../table.ts'

/** An SQLSTATE; undefined for an error that is not the server's answer. */
const stateOf = (error: unknown): string | undefined => {
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && typeof severity === 'string' ? code : undefined
}

/** By SQLSTATE, or the class that it begins with. */
const byState: readonly (readonly [string, TroubleReason])[] = [
  ['28', 'AccessDenied'],
  ['42501', 'AccessDenied'],
  ['3D', 'TableMissing'],
  ['3F', 'TableMissing'],
  ['42P01', 'TableMissing'],
  ['42703', 'TableMissing'],
  ['57014', 'TimedOut'],
  ['55P03', 'TimedOut'],
  ['25P0', 'TimedOut'],
  ['08', 'Unreachable'],
  ['53', 'Unreachable'],
  ['57P', 'Unreachable'],
]

/** Data that the tables cannot hold, and what a trigger or a view refuses. */
const refusing = /^(2[23]|P0|44000)/
/** A lock that was not got in time, and a statement that took too long. */
const late = /^(55P03|57014)$/

/** An error that concerns one bill alone: others may be written. */
export function refusalOf(error: unknown): Refused | undefined {
  const state = stateOf(error)
  if (state === undefined || !(refusing.test(state) || late.test(state))) return undefined
  return new Refused(detailOf(error, state, []), late.test(state) ? 'TimedOut' : 'Refused')
}

/** @param secrets that must not be shown, whatever the server says */
export function troubleOf(error: unknown, secrets: readonly (string | undefined)[]): TableTrouble {
  if (error instanceof TableTrouble) return error
  const state = stateOf(error)
  if (state !== undefined) {
    const reason = byState.find(([start]) => state.startsWith(start))?.[1] ?? 'Refused'
    return new TableTrouble(reason, detailOf(error, state, secrets))
  }
  const { message } = error as Error
  if (/timeout/i.test(message)) return new TableTrouble('TimedOut', cleaned(message, secrets))
  if (/password|SASL|SCRAM/.test(message)) return new TableTrouble('AccessDenied', cleaned(message, secrets))
  const reason = reasonOf(error, { secrets, trustBy: 'tenants.billing.postgres.caFile' })
  return new TableTrouble('Unreachable', isKnown(reason) ? inFull(reason) : cleaned(message, secrets))
}

const detailOf = (error: unknown, state: string, secrets: readonly (string | undefined)[]): string =>
  cleaned(`${state} ${(error as Error).message}`, secrets)
