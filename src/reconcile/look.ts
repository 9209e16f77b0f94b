/** One look at a key: what is wanted, what differs, and what the status should say. Pure. */

import { hash } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import { asObject } from '../base/json.ts'
import { patchTo } from './merge.ts'
import { plan, refKey, refOfAct, wishText } from './plan.ts'
import type { Act, Hold, Kind, Result, StatusPatch } from './types.ts'

export interface Look {
  readonly verdict: Hold
  readonly acts: readonly Act[]
  /** Equal for equal wishes. */
  readonly wish: string
}

/** @returns undefined if the key is none of ours */
export function lookAt<World>(kind: Kind<World>, key: string, nowMs: number): Look | undefined {
  const verdict = kind.desired(key, kind.world(), nowMs)
  if (verdict.do === 'leave') return undefined
  return { verdict, acts: plan(verdict, kind), wish: digest(wishText(verdict.objects)) }
}

export function resultOf({ acts, verdict }: Look, more: Pick<Result, 'failure' | 'due' | 'contended'>): Result {
  const { failure, due } = more
  return {
    ...more,
    onlyRevocations: verdict.onlyRevocations,
    settled: acts.length === 0 && failure === undefined && due.length === 0,
    made: acts.length === 0 && failure === undefined,
    conflicts: acts.flatMap(act => (act.act === 'conflict' ? act.fact : [])),
    awaited: acts.flatMap(act => (act.act === 'await' ? act.fact : [])),
  }
}

export interface StatusChange {
  readonly patch: StatusPatch
  /** Equal for statuses that differ only in times. */
  readonly text: string
}

/**
 * The difference to the status that exists; undefined if nothing differs, or there is no parent to report to.
 * @param nowMs since the epoch
 */
export function statusChange<World>(
  kind: Kind<World>,
  key: string,
  result: Result,
  nowMs: number,
): StatusChange | undefined {
  const wanted = kind.report(key, kind.world(), result, nowMs)
  if (!wanted) return undefined
  const { of, status } = wanted
  const difference = patchTo(status, asObject(of.owned.status), {})
  if (difference === undefined) return undefined
  return { patch: { of, status: asObject(difference) }, text: canonical(untimed(status)) }
}

/** A status that only came back at another time is the same. */
function untimed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(untimed)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => name !== 'lastTransitionTime')
  return Object.fromEntries(kept.map(([name, inner]) => [name, untimed(inner)]))
}

/** An act for a wish: once done, the same act in the same turn would undo another's change. */
export const signature = (act: Act, wish: string): string => `${act.act} ${act.stage} ${placeOf(act)} ${wish}`

const placeOf = (act: Act): string => refKey(refOfAct(act))

/** The state of the object that an act was planned for. A version would not do: the status of an object has versions too. */
export function sightOf(act: Act): string {
  if (act.act === 'create') return `${placeOf(act)}@`
  const { uid, owned, owners } = act.fact
  return `${placeOf(act)}@${uid}:${digest(canonical([owned, owners]))}`
}

const digest = (text: string): string => hash('sha256', text, 'base64')
