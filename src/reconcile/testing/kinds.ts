/** For tests: kinds with other verdicts. */
import type { Hold, Kind } from '../types.ts'

/** A kind of any world. */
export type AnyKind = Kind<never>

/** The kind with more in its verdicts. */
export const holding =
  (more: (nowMs: number) => Partial<Hold>) =>
  (kind: AnyKind): AnyKind => ({
    ...kind,
    desired: (key, world, nowMs) => {
      const verdict = kind.desired(key, world, nowMs)
      return verdict.do === 'hold' ? { ...verdict, ...more(nowMs) } : verdict
    },
  })

/** The kind, whose looks are counted. */
export const looksOf =
  (counted: { looks: number }) =>
  (kind: AnyKind): AnyKind => ({
    ...kind,
    desired: (...args) => {
      counted.looks += 1
      return kind.desired(...args)
    },
  })

/** The kind with a note in each status. */
export const noting =
  (note: () => string) =>
  (kind: AnyKind): AnyKind => ({
    ...kind,
    report: (...args) => {
      const told = kind.report(...args)
      return told && { ...told, status: { ...told.status, note: note() } }
    },
  })
