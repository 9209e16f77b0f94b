/** Reads what stands from joined rows, as all databases give them. Pure. */
import type { Standing } from './table.ts'

type Value = string | number | bigint | null | undefined

/** A head, with one of its rows, or null where it has none. */
export interface JoinedRow {
  readonly ns_uid?: Value
  readonly ns_name?: Value
  readonly generation?: Value
  readonly revision?: Value
  readonly name?: Value
  readonly value?: Value
  /** `ns_name` of the row. */
  readonly named?: Value
}

/** A row of another name than the head's counts as none: it is written again. */
export function standingIn(rows: readonly JoinedRow[]): ReadonlyMap<string, Standing> {
  const found = new Map<string, Standing & { readonly billing: Record<string, string> }>()
  for (const { ns_uid, ns_name, generation, revision, name, value, named } of rows) {
    const uid = String(ns_uid)
    const head = found.get(uid) ?? {
      ...{ name: String(ns_name), generation: Number(generation), revision: Number(revision), billing: {} },
    }
    found.set(uid, head)
    if (typeof name === 'string' && typeof value === 'string' && named === ns_name) head.billing[name] = value
  }
  return found
}
