/**
 * Rings: the messages of the bell. A ring is only `{what, subject, op?}`; its listeners read the data where they are kept.
 *
 * | what | about | when |
 * |---|---|---|
 * | accepted | a subject | an operation waits for an owner |
 * | events | a subject | its stream has more events, none of them the last of an operation |
 * | failed | a subject | its status has become `failed`, so that objects may be left; `ended` follows in the same script |
 * | ended | a subject | its operation ended, or its state changed without one |
 * | released | a subject | an owner released its operation before the end |
 * | activity | a workload | `activity-events` has another event about it; its operations and its own stream have not changed |
 * | compared | the installation | the data of this Redis were compared with the cluster |
 * | missed | the installation | rings may have been lost; never sent, but detected by each replica itself |
 */
import { parseSubject, type Subject } from '../base/subject.ts'
import { valueIn } from './fields.ts'

/** The kinds of rings, and the subject of each. A new kind is added here and to the table above. */
const whats = {
  accepted: 'subject',
  events: 'subject',
  failed: 'subject',
  ended: 'subject',
  released: 'subject',
  activity: 'subject',
  compared: 'installation',
} as const

type What<About> = { [W in keyof typeof whats]: (typeof whats)[W] extends About ? W : never }[keyof typeof whats]

export type Ring =
  | {
      readonly what: What<'subject'>
      readonly subject: Subject
      /** The operation; absent if the subject has none. */
      readonly op?: number
    }
  /** A ring of the whole installation has no subject, and concerns all subjects. */
  | { readonly what: What<'installation'>; readonly subject?: undefined; readonly op?: undefined }
  | Missed

/** Rings of any bell may have been lost. Never sent. */
export interface Missed {
  readonly what: 'missed'
  readonly subject?: undefined
  readonly op?: undefined
}

/**
 * Reads an entry of the bell. `fields`: its names and values in turns.
 * @returns undefined for rings of a later release, with an unknown `what`. The engine and the monitor skip kinds of subjects that
 *   are not their own
 */
export function parseRing(fields: readonly string[]): Ring | undefined {
  const what = valueIn(fields, 'what') as keyof typeof whats
  if (!Object.hasOwn(whats, what)) return undefined
  if (isOf('installation', what)) return { what }
  const subject = subjectOf(fields)
  const op = Number(valueIn(fields, 'op') ?? 0)
  return subject && isOf('subject', what) ? { what, subject, ...(op > 0 && { op }) } : undefined
}

function isOf<About extends string>(about: About, what: keyof typeof whats): what is What<About> {
  return (whats[what] as string) === about
}

/** The release before subjects names the lab only by the field `user`. To be removed with that field, one release later. */
function subjectOf(fields: readonly string[]): Subject | undefined {
  return parseSubject(valueIn(fields, 'subject') ?? `lab:${valueIn(fields, 'user') ?? ''}`)
}
